/*
 * The text of shardings: which part of an array each device has, as HLO and Shardy write it.
 *
 *   {replicated}  {manual}  {maximal device=3}  {devices=[2,1,4]<=[4,2]T(1,0) last_tile_dim_replicate}
 *   {devices=[2,2]0,2,1,3 last_tile_dims={manual}}  {{replicated}, {devices=[2]0,1}}
 *   {mesh['x'=2,'y'=4], [{'x'}, {'y':(1)2,?}], replicated={'y'}, manual={}}
 *   #sdy.sharding<@mesh, [{"x"}, {"y", ?}], replicated={}>   the same without #sdy.sharding
 *   #sdy.sharding_per_value<[<@mesh, [{}]>, <@mesh, [{"x"}]>]>
 *
 * Names of axes are resolved where they are read: struct hlo_sharding knows tiles and devices only.
 *
 * A region of sdy.manual_computation stands in a program as GSPMD writes one: hlo_enter_manual of
 * each operand, a call of the body's computation, hlo_leave_manual of each result.
 */
#ifndef IMPORT_SHARDING_H
#define IMPORT_SHARDING_H
#include "import/program/build.h"

#define HLO_DEVICES_MAX (1 << 20)       /* of one sharding */

/*
 * Shardings of `length` bytes of text (`\"` counts as `"`), in m's arena; names of meshes are those
 * of m->mesh. As many as the text lists: one, or one for each leaf. -1: what is wrong with the text.
 */
int hlo_sharding_parse(const struct hlo_module *m, const char *text, size_t length, int *count,
                       const struct hlo_sharding **sharding, struct err *e);

/* Says that an array of `rank` dimensions lies by hand over axes of a mesh: `{"x", "y"}`, also as
 * #sdy.manual_axes{"x"} or #sdy<manual_axes{"x"}>; it is whole over the others. */
int hlo_sharding_parse_manual(const struct hlo_module *m, const struct hlo_mesh *mesh,
                              const char *axes, size_t length, int rank,
                              struct hlo_sharding *sharding, struct err *e);
/* the mesh that a sharding of Shardy's names, its first one of several; NULL: none that m has */
const struct hlo_mesh *hlo_sharding_mesh(const struct hlo_module *m, const char *text,
                                         size_t length);

/*
 * Devices that differ in these axes only are a group, in the axes' order, the last counted fastest:
 * `mesh = @name, axes = [#stablehlo.axis_ref<name = "x", sub_axis_info = (2)4>]`, or with a mesh
 * `#stablehlo.mesh<axes = [#stablehlo.mesh_axis<name = "x", size = 8>], device_ids = [..]>` of its own.
 */
int hlo_groups_parse_axes(const struct hlo_module *m, const char *text, size_t length,
                          struct hlo_groups *g, struct err *e);

/* Adds the meshes of a header's xla.sdy.meshes, `{mesh = #sdy.mesh<["x"=2]>, ..}`, to the module. */
int hlo_meshes_parse(struct hlo_module *m, const char *text, size_t length, struct err *e);

/* HLO's text with its braces, in the arena; ids that count up are written as <=[n] */
const char *hlo_sharding_text(struct arena *a, const struct hlo_sharding *s);

/*
 * An array on its way into a manual region and out of it. `cut` says how the whole array lies;
 * `manual` is hlo_sharding_parse_manual's. `local`, `whole`: the type behind the step.
 */
int hlo_enter_manual(struct hlo_builder *b, int x, const struct hlo_sharding *cut,
                     const struct hlo_sharding *manual, const struct hlo_type *local);
int hlo_leave_manual(struct hlo_builder *b, int x, const struct hlo_sharding *cut,
                     const struct hlo_sharding *manual, const struct hlo_type *whole);
#endif
