import { conditionsHold, LazyVariables, type Scope } from '../matching/expression.ts';
import type { Policy, Validation } from './policy.ts';

export interface Failure {
  readonly message: string;
  readonly reason: string;
  /**
   * Whether the failure comes from an invalid policy. For an invalid policy, the server ignores the action of the
   * binding.
   */
  readonly ofPolicy?: boolean;
}

const MAX_MESSAGE = 5 * 1024;

function messageOf({ expression, message, messageExpression }: Validation, scope: Scope): string {
  const outcome = messageExpression?.evaluate(scope);
  if (outcome !== undefined && 'value' in outcome && typeof outcome.value === 'string') {
    const said = outcome.value.trim();
    if (said !== '' && !said.includes('\n') && Buffer.byteLength(said) <= MAX_MESSAGE) return said;
  }
  return message !== '' ? message : `failed expression: ${expression.source.trim()}`;
}

/** A failed evaluation counts as a violation of the policy, unless the failure policy is Ignore. */
export function evaluatePolicy(policy: Policy, base: Scope): Failure[] {
  const scope: Scope = { ...base, variables: new LazyVariables(policy.variables, base) };
  const held = conditionsHold(policy.conditions, scope);
  if (held === false) return [];
  if (held !== true) return policy.ignoresFailure ? [] : [{ message: held.error, reason: '' }];
  const failures: Failure[] = [];
  for (const validation of policy.validations) {
    const outcome = validation.expression.evaluate(scope);
    if ('error' in outcome) {
      if (!policy.ignoresFailure) failures.push({ message: outcome.error, reason: '' });
    } else if (outcome.value !== true) {
      failures.push({ message: messageOf(validation, scope), reason: validation.reason });
    }
  }
  return failures;
}
