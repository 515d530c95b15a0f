import type { ApiObject } from '../../../apimachinery/objects/object.ts';
import { items, look, number, strings, text } from '../../../apimachinery/objects/plain.ts';
import { parseIndexes } from './indexes.ts';

export interface Verdict {
  readonly counts: boolean;
  readonly action: string | undefined;
  readonly message: string | undefined;
}

const COUNTS: Verdict = { counts: true, action: undefined, message: undefined };

/** Finds an ended container that matches a rule. */
function endedContainer(pod: ApiObject, rule: unknown): { name: string; code: number } | undefined {
  const operator = text(rule, 'operator');
  const { values } = look({ rule }, 'rule');
  const codes = Array.isArray(values) ? values : [];
  const named = text(rule, 'containerName');
  for (const list of ['containerStatuses', 'initContainerStatuses']) {
    for (const container of items(look(pod, 'status'), list)) {
      const code = number(look(container, 'state', 'terminated'), 'exitCode');
      const name = text(container, 'name');
      if (code === undefined || code === 0 || (named !== '' && named !== name)) continue;
      if (codes.includes(code) === (operator === 'In')) return { name, code };
    }
  }
  return undefined;
}

/** Applies the first matching rule of the job to a failed pod (`matchPodFailurePolicy`). */
export function assessFailure(job: ApiObject, pod: ApiObject): Verdict {
  const policy = look(job, 'spec').podFailurePolicy;
  const { namespace, name } = pod.metadata;
  for (const [index, rule] of items(policy, 'rules').entries()) {
    const action = text(rule, 'action');
    let reason: string | undefined;
    if (rule.onExitCodes !== undefined) {
      const container = endedContainer(pod, rule.onExitCodes);
      if (container === undefined) continue;
      reason = `Container ${container.name} for pod ${namespace}/${name} failed with exit code ${container.code}`;
    } else {
      const condition = items(look(pod, 'status'), 'conditions').find((one) =>
        items(rule, 'onPodConditions').some(({ type, status }) => type === one.type && status === one.status),
      );
      if (condition === undefined) continue;
      reason = `Pod ${namespace}/${name} has condition ${text(condition, 'type')}`;
    }
    const message = action === 'FailJob' ? `${reason} matching ${action} rule at index ${index}` : undefined;
    return { counts: action !== 'Ignore', action, message };
  }
  return COUNTS;
}

/** Returns the reason why the succeeded indexes complete the job. */
export function assessSuccess(job: ApiObject, succeeded: ReadonlySet<number>): string | undefined {
  if (succeeded.size === 0) return undefined;
  for (const [index, rule] of items(look(job, 'spec').successPolicy, 'rules').entries()) {
    const wanted = strings({ list: [rule.succeededIndexes] }, 'list')[0];
    const count = number(rule, 'succeededCount');
    const message = `Matched rules at index ${index}`;
    if (wanted === undefined) {
      if (count !== undefined && succeeded.size >= count) return message;
      continue;
    }
    const needed = parseIndexes(wanted, number(look(job, 'spec'), 'completions') ?? 0);
    const done = [...needed].filter((one) => succeeded.has(one)).length;
    if (needed.size > 0 && (done === needed.size || (count !== undefined && done >= count))) return message;
  }
  return undefined;
}
