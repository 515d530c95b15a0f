import type { KubeObject } from '@mcm/kube';
import {
  type ComparedFields,
  comparedFieldsOf,
  type Difference,
  differences,
  inWords,
} from '../recordings/compared-fields.ts';
import type { Names } from '../recordings/names.ts';
import { matchAll, type Pairing } from './match.ts';
import type { Rule } from './rules.ts';

export interface Verdict {
  readonly problems: readonly string[];
  readonly used: ReadonlySet<Rule>;
}

export interface Side {
  readonly objects: readonly KubeObject[];
  readonly names: Names;
}

const TOLD = 4;
const OPEN = 1_000;

/** Compares the objects of mcm and of the original, but only the fields that other programs read. */
export function compare(ours: Side, theirs: Side, rules: readonly Rule[]): Verdict {
  const problems: string[] = [];
  const used = new Set<Rule>();
  for (const kind of new Set([...theirs.objects, ...ours.objects].map((object) => object.kind))) {
    const relevant = rules.filter((rule) => rule.kinds.includes(kind));
    const match = matchAll(picturesOf(kind, ours), picturesOf(kind, theirs), (one, other) =>
      pairUp(one, other, relevant),
    );
    for (const { theirs: wanted, pairing } of match.pairs) {
      for (const rule of pairing.rules) used.add(rule);
      if (pairing.open.length > 0)
        problems.push(`${kind} ${nameOf(wanted)}: ${pairing.open.slice(0, TOLD).map(inWords).join('; ')}`);
    }
    for (const wanted of match.missing) problems.push(`${kind} ${nameOf(wanted)} is missing`);
    for (const extra of match.extra) problems.push(`${kind} ${nameOf(extra)} does not exist in the recording`);
  }
  return { problems, used };
}

const nameOf = (picture: ComparedFields): string => picture.get('.metadata.name') ?? '?';

const picturesOf = (kind: string, { objects, names }: Side): ComparedFields[] =>
  objects.filter((object) => object.kind === kind).map((object) => comparedFieldsOf(object, names));

function pairUp(ours: ComparedFields, theirs: ComparedFields, rules: readonly Rule[]): Pairing {
  const open: Difference[] = [];
  const needed = new Set<Rule>();
  for (const difference of differences(ours, theirs)) {
    const rule = rules.find((one) => one.excuses?.(difference, { ours, theirs }));
    if (rule) needed.add(rule);
    else open.push(difference);
  }
  return { cost: open.length * OPEN + needed.size, open, rules: [...needed], unseen: 0 };
}
