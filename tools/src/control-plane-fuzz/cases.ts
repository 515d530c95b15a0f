import { seededRandom } from '@mcm/kube';
import type { Case } from './battery.ts';
import { createDraw } from './requests/draw.ts';
import type { Kind, Samples } from './requests/kinds.ts';
import type { Schemas } from './requests/schema.ts';
import type { Step } from './requests/step.ts';
import { createValid, isGuarded, nextSteps, review, type Source } from './requests/steps.ts';

/** Requests of a case: enough for objects to meet, few enough that one difference hides little. */
const STEPS = 20;
/** Distance between the seeds of two runs: no run has as many cases. */
const STRIDE = 1_000_003;
/** Kinds whose admission reads a cache of the real server: only next to themselves, or answers depend on its delay. */
const ALONE = new Set(['LimitRange', 'ResourceQuota']);

const isStep = (step: Step): boolean => step.request !== undefined;

/** The requests of a case. */
export const requestsOf = ({ steps }: Case): number => steps.filter(isStep).length;

/** The case `index` of `seed`: always the same. */
export function caseOf(seed: number, index: number, all: readonly Kind[], schemas: Schemas, samples: Samples): Case {
  const draw = createDraw(seededRandom(seed * STRIDE + index));
  const source: Source = { draw, schemas, samples };
  // Every kind has its turn; a second one meets it in a third of the cases.
  const first = all[index % all.length] as Kind;
  const second = draw.pick(all);
  const kinds = draw.chance(0.3) && !ALONE.has(first.kind) && !ALONE.has(second.kind) ? [first, second] : [first];
  const watched = draw.chance(0.12) && !isGuarded(first);
  const steps: Step[] = [];
  if (watched) {
    const selector = first.namespaced ? '' : '&labelSelector=fuzz=${id}';
    steps.push({ request: `GET ${first.collection}?watch=true${selector}`, watch: 'w' });
  }
  if (draw.chance(0.85)) steps.push(createValid(source, first));
  while (steps.length < STEPS) {
    if (draw.chance(0.01)) steps.push(...review(source, first));
    else steps.push(...nextSteps(source, draw.pick(kinds)));
  }
  if (watched) steps.push({ events: 'w' });
  // No controller empties namespaces: ports and addresses of Services must be free for the next case.
  const cleanup = kinds
    .filter(({ resource }) => resource === 'services')
    .map(({ collection }) => `DELETE ${collection}`);
  return { name: `seed ${seed}, case ${index}: ${kinds.map(({ kind }) => kind).join(', ')}`, cleanup, steps };
}
