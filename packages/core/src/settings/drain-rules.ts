import { Annotations, type LabelSelector, labelSelectorSchema, type Machine, type MachineClass } from '@mcm/api';
import * as z from 'zod';
import { isEmptySelector, type LabelMap, matcherOf } from '../objects/selector.ts';
import { issueText } from '../values/issue-text.ts';

const KEY = Annotations.DrainRules;

/** Each pod is compared with each rule, so mcm limits the number of drain rules. */
const MOST = 20;

const ruleSchema = z.strictObject({
  name: z.string().min(1),
  behavior: z.enum(['Drain', 'Skip', 'WaitCompleted']),
  /** The order of eviction (default: 0); pods with a lower order are evicted first. */
  order: z.exactOptional(z.int().min(-1_000_000).max(1_000_000)),
  pods: z.exactOptional(labelSelectorSchema),
  namespaces: z.exactOptional(z.array(z.string().min(1)).min(1)),
  machines: z.exactOptional(labelSelectorSchema),
});

type RuleText = z.infer<typeof ruleSchema>;

/** A drain rule of a machine; the first rule that matches a pod applies. */
export interface DrainRule {
  readonly name: string;
  /**
   * With `Skip`, the drain ignores the pod. With `WaitCompleted`, the drain waits until the pod has ended by itself.
   */
  readonly behavior: RuleText['behavior'];
  readonly order: number;
  readonly matches: (namespace: string, labels: LabelMap | undefined) => boolean;
}

/** The drain rules of a machine, or no rule if the annotation has a problem. */
export interface DrainRules {
  readonly rules: readonly DrainRule[];
  readonly problems: readonly string[];
}

const NONE: DrainRules = { rules: [], problems: [] };

/** Converts a selector to a function; an empty or missing selector matches everything, as in Kubernetes. */
const matcher = (selector: LabelSelector | undefined): ((labels: LabelMap | undefined) => boolean) =>
  selector === undefined || isEmptySelector(selector) ? () => true : matcherOf(selector);

const compiled = ({ name, behavior, order = 0, pods, namespaces }: RuleText): DrainRule => {
  const hasLabels = matcher(pods);
  return {
    name,
    behavior,
    order,
    matches: (namespace, labels) => namespaces?.includes(namespace) !== false && hasLabels(labels),
  };
};

const refused = (path: string, problem: string): DrainRules => ({
  rules: [],
  problems: [`metadata.annotations[${KEY}]${path}: ${problem}; mcm ignores the whole list`],
});

function parsed(text: string): DrainRules | readonly RuleText[] {
  let list: unknown;
  try {
    list = JSON.parse(text);
  } catch {
    return refused('', 'is not JSON; write a list such as [{"name": "jobs", "behavior": "WaitCompleted"}]');
  }
  const found = z.array(ruleSchema).max(MOST).safeParse(list);
  if (!found.success) {
    const [issue] = found.error.issues;
    const path = (issue?.path ?? []).map((part) => (typeof part === 'number' ? `[${part}]` : `.${String(part)}`));
    return refused(path.join(''), issue === undefined ? 'is invalid' : issueText(issue));
  }
  const wrong = found.data.findIndex(({ behavior, order }) => behavior !== 'Drain' && order !== undefined);
  return wrong < 0
    ? found.data
    : refused(`[${wrong}].order`, 'is allowed only for the behavior Drain; remove the field order');
}

export function drainRulesOf(machine: Machine, machineClass: Pick<MachineClass, 'metadata'> | undefined): DrainRules {
  const text = machine.metadata.annotations?.[KEY] ?? machineClass?.metadata.annotations?.[KEY];
  if (text === undefined) return NONE;
  const list = parsed(text);
  if ('problems' in list) return list;
  const own = list.filter(({ machines }) => matcher(machines)(machine.metadata.labels));
  return { rules: own.map(compiled), problems: [] };
}

export function drainRuleProblems(annotations: Readonly<Record<string, string>> = {}): readonly string[] {
  const text = annotations[KEY];
  const list = text === undefined ? NONE : parsed(text);
  return 'problems' in list ? list.problems : [];
}
