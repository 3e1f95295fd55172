#!/bin/sh
# Completion for a shell, from what --help says of the programs, which comes from their tables of
# options. Usage: sh tools/completion.sh bash|zsh SYSTOLE [VIEWER]
set -e
shell=$1 systole=$2 viewer=$3
here=$(dirname "$0")
chips=$("$systole" chips | awk 'NR > 1 && $1 ~ /^(tiny|v[0-9][0-9a-z]*)$/ && !seen[$1]++ { printf "%s ", $1 }')
commands=$("$systole" --help | awk '/^$/ { part++; next } part == 1 { print $1 }')

bash_case() {                           # name of the case, then the program's words
    name=$1
    shift
    sh "$here/help_rows.sh" "$@" | awk -F '\t' -v name="$name" '
        $2 != "" { options = options " --" $2 ($3 != "" ? "=" : "") }
        $3 ~ /^[a-z0-9_]+(\|[a-z0-9_]+)+$/ { v = $3; gsub(/\|/, " ", v); values = values "--" $2 ") values=\"" v "\" ;; " }
        END { printf "    %s)\n        options=\"%s\"\n", name, substr(options, 2)
              if (values != "") printf "        case $before in %sesac\n", values
              print "        ;;" }'
}

zsh_case() {
    name=$1
    shift
    echo "    $name)"
    echo "        _arguments -s '*:file:_files' \\"
    sh "$here/help_rows.sh" "$@" | awk -F '\t' -v chips="$chips" '
        function quoted(text) { gsub(/\x27/, "\x27\\\x27\x27", text); return text }
        function inner(text) { gsub(/[\[\]:]/, "\\\\&", text); return quoted(text) }
        $2 != "" {
            action = ""
            if ($3 ~ /^[a-z0-9_]+(\|[a-z0-9_]+)+$/) { action = $3; gsub(/\|/, " ", action); action = "(" action ")" }
            else if ($2 == "tpu") action = "(" chips ")"
            else if ($3 ~ /FILE/) action = "_files"
            else if ($3 == "DIR") action = "_files -/"
            printf "            \x27--%s%s[%s]%s\x27 \\\n", $2, $3 != "" ? "=" : "", inner($4),
                   $3 != "" ? ":" inner($3) ":" action : ""
        }'
    echo "        ;;"
}

if [ "$shell" = bash ]; then
    cat <<'END'
# bash completion for systole; made by tools/completion.sh
_systole_words() {                      # WORD VALUES...: what of the values begins with the word
    local reply=() one
    for one in $(compgen -W "$2" -- "$1"); do reply+=("$one"); done
    COMPREPLY=("${reply[@]}")
    [[ ${#reply[@]} -eq 1 && ${reply[0]} == *= ]] && compopt -o nospace 2>/dev/null
    return 0
}
_systole() {
    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}
    local command=${COMP_WORDS[1]} options= values=
    COMPREPLY=()
    [[ $1 == *systole-view ]] && command=systole-view
    if [[ $word == = ]]; then word=
    elif [[ $before == = ]]; then before=${COMP_WORDS[COMP_CWORD-2]}
    fi
END
    printf '    if [[ $command != systole-view && $COMP_CWORD -eq 1 ]]; then\n'
    printf '        _systole_words "$word" "%s --help --version"\n        return\n    fi\n' \
        "$(echo $commands)"
    printf '    [[ $before == --tpu || $before == -t ]] && values="%s"\n' "${chips% }"
    echo '    case $command in'
    for command in $commands; do bash_case "$command" "$systole" "$command"; done
    [ -z "$viewer" ] || bash_case systole-view "$viewer"
    cat <<'END'
    esac
    if [[ -n $values ]]; then _systole_words "$word" "$values"
    elif [[ $word == -* ]]; then _systole_words "$word" "$options"
    else compopt -o default 2>/dev/null
    fi
}
complete -F _systole systole systole-view
END
else
    echo "#compdef systole systole-view"
    echo "# made by tools/completion.sh"
    echo 'local command=$words[2]'
    echo 'if [[ $service == systole-view ]]; then'
    echo '    command=systole-view'
    echo 'elif (( CURRENT == 2 )); then'
    echo '    local -a commands=('
    "$systole" --help | awk '/^$/ { part++; next }
        part == 1 { name = $1; sub(/^ *[a-z]+ */, ""); gsub(/\x27/, "\x27\\\x27\x27")
                    print "        \x27" name ":" $0 "\x27" }'
    echo '    )'
    echo '    _describe command commands'
    echo '    return'
    echo 'else'
    echo '    shift words'
    echo '    (( CURRENT-- ))'
    echo 'fi'
    echo 'case $command in'
    for command in $commands; do zsh_case "$command" "$systole" "$command"; done
    [ -z "$viewer" ] || zsh_case systole-view "$viewer"
    echo esac
fi
