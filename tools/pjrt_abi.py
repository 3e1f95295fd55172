#!/usr/bin/env python3
"""Writes pjrt/abi/abi.h or pjrt/abi/functions.def from a table of the PJRT interface.

    tools/pjrt_abi.py header TABLE.csv > pjrt/abi/abi.h
    tools/pjrt_abi.py functions TABLE.csv > pjrt/abi/functions.def

The table has a row for each field of each struct, each number of each enum, each function and each
type of callback: kind, owner, index, name, type in C, offset, bytes, first minor version, meaning.
"""
import csv
import re
import sys
import textwrap

# what belongs to extensions that the library does not offer
LEFT_OUT = re.compile(r'Megascale|Tpu|Collectives|MultiSlice_|PhaseCompile|Transfers|CrossHost|RawBuffer'
                      r'|DeviceEvent|HostAllocator|HostMemoryAllocator|FFI|Gpu|Triton|AbiVersion'
                      r'|XlaTransform|Xla_Transform|Callback_(Reg|Inv|Type|Ext)|JAX_|ExecutableMetadata|Stream_Ext'
                      r'|External_Ready|Ready_On_Stream|Custom_Partitioner|Example|SerializedProto|SLICE_')


def rows(path):
    with open(path, newline='') as table:
        return list(csv.DictReader(table))


class Table:
    def __init__(self, path):
        all_rows = rows(path)
        self.keeps = lambda owner: not LEFT_OUT.search(owner)
        self.enums, self.structs, self.opaque, self.callbacks = {}, {}, [], []
        self.functions, self.constants = [], []
        for row in all_rows:
            kind, owner = row['kind'], row['owner']
            if kind == 'enum':
                if self.keeps(owner):
                    self.enums.setdefault(owner, []).append(row)
            elif kind == 'struct' or (kind == 'function' and owner not in ('typedef', 'PJRT_Api')):
                if not self.keeps(owner):
                    continue
                if row['name'] == '(opaque)':
                    self.opaque.append(owner)
                else:
                    self.structs.setdefault(owner, []).append(row)
            elif kind == 'function' and owner == 'typedef' and self.keeps(row['name']):
                self.callbacks.append(row)
            elif kind == 'function' and owner == 'PJRT_Api':
                self.functions.append(row)
            elif row['name'].endswith(('_MAJOR', '_MINOR')) or \
                    (row['name'].endswith('_VERSION') and self.keeps(row['owner']) and
                     re.search('LAYOUTS|MEMORY_DESC|PROFILER|SHARDINGS', row['name'])):
                self.constants.append(row)
        for fields in self.structs.values():
            fields.sort(key=lambda row: (int(row['offset_bytes']), int(row['index'])))

    def c_type(self, text):
        """the type as C has it: struct and enum in front of their names"""
        def name(found):
            word = found.group(0)
            if word in self.enums:
                return 'enum ' + word
            if any(word == row['name'] for row in self.callbacks):
                return word
            return 'struct ' + word
        text = re.sub(r'\bstruct ', '', text)
        return re.sub(r'\b(PJRT|PLUGIN)_\w+', name, text)

    def declare(self, text, name):
        made = self.c_type(text)
        if '(*)' in re.sub(r' ', '', made):
            return re.sub(r'\s*\(\s*\*\s*\)\s*\(', ' (*%s)(' % name, made, count=1)
        made = re.sub(r'\s*(\*+)$', r' \1', made)
        return made + ('' if made.endswith('*') else ' ') + name

    def structs_named(self):
        used = set(self.structs) | set(self.opaque)
        for fields in list(self.structs.values()) + [self.callbacks] + [self.functions]:
            for row in fields:
                for word in re.findall(r'\b(?:PJRT|PLUGIN)_\w+', row['c_type']):
                    if word not in self.enums and \
                            not any(word == c['name'] for c in self.callbacks):
                        used.add(word)
        return sorted(used)


def wrap(line, indent):
    return '\n'.join(textwrap.wrap(line, 96, initial_indent=indent,
                                   subsequent_indent=indent + '        ',
                                   break_long_words=False, break_on_hyphens=False))


def print_struct(t, name, fields):
    print('struct %s {' % name)
    place = 0
    while place < len(fields):
        arms = [row for row in fields if row['offset_bytes'] == fields[place]['offset_bytes']]
        if len(arms) > 1:
            print('    union {')
        for row in arms:
            indent = '        ' if len(arms) > 1 else '    '
            print(wrap(t.declare(row['c_type'], row['name']) + ';', indent))
        if len(arms) > 1:
            print('    };')
        place += len(arms)
    print('};\n')


def in_order(t):
    """structs behind those that they hold"""
    done, order = set(), []

    def visit(name):
        if name in done:
            return
        done.add(name)
        for row in t.structs[name]:
            held = row['c_type'].replace('struct ', '')
            if held in t.structs:
                visit(held)
        order.append(name)
    for name in t.structs:
        if name != 'PJRT_Api':
            visit(name)
    return order


def header(t):
    print('''/*
 * The PJRT C interface, which frameworks load device libraries by: numbers and layouts of its
 * structs, for 64-bit hosts with natural alignment.
 *
 * tools/pjrt_abi.py writes this file; tests/pjrt/pjrt_abi.sh holds it against the table that it
 * comes from. Every function takes one struct, which begins with the bytes that its caller knows of
 * it: what lies behind them must not be touched (pjrt/abi/args.h). Types of callbacks have typedefs
 * here, for the interface names them.
 */
#ifndef PJRT_ABI_H
#define PJRT_ABI_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
''')
    for row in t.constants:
        print('#define %s %s' % (row['name'], row['index']))
    print()
    for name, numbers in t.enums.items():
        print('enum %s {' % name)
        for row in numbers:
            print('    %s = %s,' % (row['name'], row['index']))
        print('};\n')
    for name in t.structs_named():
        print('struct %s;' % name)
    print()
    for row in t.callbacks:
        print(wrap('typedef %s;' % t.declare(row['c_type'], row['name']), ''))
    print()
    for name in in_order(t):
        print_struct(t, name, t.structs[name])
    print('''/* The table itself, a slot for each row of functions.def. */
struct PJRT_Api {
    size_t struct_size;
    struct PJRT_Extension_Base *extension_start;
    struct PJRT_Api_Version pjrt_api_version;
#define FUNCTION(name) struct PJRT_Error *(*PJRT_##name)(struct PJRT_##name##_Args *);
#define PROCEDURE(name) void (*PJRT_##name)(struct PJRT_##name##_Args *);
#include "pjrt/abi/functions.def"
};
#endif''')


def functions(t):
    print('''/*
 * The functions of the PJRT interface in the order of its table; tools/pjrt_abi.py writes this.
 *
 *   FUNCTION(name)      gives an error, NULL for success
 *   PROCEDURE(name)     gives nothing
 */''')
    for row in t.functions:
        kind = 'PROCEDURE' if row['c_type'].startswith('void') else 'FUNCTION'
        print('%s(%s)' % (kind, row['name'].replace('PJRT_', '', 1)))
    print('#undef FUNCTION\n#undef PROCEDURE')


if __name__ == '__main__':
    if len(sys.argv) != 3 or sys.argv[1] not in ('header', 'functions'):
        sys.exit(__doc__)
    {'header': header, 'functions': functions}[sys.argv[1]](Table(sys.argv[2]))
