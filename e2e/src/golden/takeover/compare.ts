import type { KubeObject } from '@mcm/kube';
import { differences, type Picture, pictureOf } from './picture.ts';
import { RULES, type Rule } from './rules.ts';

const machineNames = (objects: readonly KubeObject[]): Set<string> =>
  new Set(objects.filter(({ kind }) => kind === 'Machine' || kind === 'Node').map(({ metadata }) => metadata.name));

/** Where what we have differs from what the original had, by the contract and not by names; at most one line an object. */
export function compare(
  ours: readonly KubeObject[],
  theirs: readonly KubeObject[],
  rules: readonly Rule[] = RULES,
): readonly string[] {
  const problems: string[] = [];
  const names = new Set([...machineNames(ours), ...machineNames(theirs)]);
  const picture = (object: KubeObject): Picture => pictureOf(object, names);
  for (const kind of new Set([...theirs, ...ours].map((object) => object.kind))) {
    const left = ours.filter((object) => object.kind === kind).map(picture);
    const missing: Picture[] = [];
    const diff = (one: Picture, other: Picture): readonly string[] => unexpected(kind, one, other, rules);
    for (const wanted of theirs.filter((object) => object.kind === kind).map(picture)) {
      const at = left.findIndex((mine) => diff(mine, wanted).length === 0);
      if (at < 0) missing.push(wanted);
      else left.splice(at, 1);
    }
    for (const wanted of missing) {
      const name = `${kind} ${wanted.get('.metadata.name')}`;
      const [nearest] = left
        .map((mine) => ({ mine, lines: diff(mine, wanted) }))
        .sort((a, b) => a.lines.length - b.lines.length);
      if (nearest) left.splice(left.indexOf(nearest.mine), 1);
      problems.push(nearest ? `${name}: ${nearest.lines.slice(0, 4).join('; ')}` : `${name} is missing`);
    }
    for (const extra of left) problems.push(`${kind} ${extra.get('.metadata.name')} is one too many`);
  }
  return problems;
}

const unexpected = (kind: string, ours: Picture, theirs: Picture, rules: readonly Rule[]): readonly string[] => {
  const relevant = rules.filter((rule) => rule.kinds.includes(kind));
  const adapt = (own: Picture, other: Picture): Picture =>
    new Map(
      [...own].flatMap(([path, value]) => {
        const adapted = relevant.reduce<string | undefined>(
          (text, rule) => (text === undefined ? undefined : rule.adapt(path, text, { own, other })),
          value,
        );
        return adapted === undefined ? [] : [[path, adapted] as const];
      }),
    );
  return differences(adapt(ours, theirs), adapt(theirs, ours));
};
