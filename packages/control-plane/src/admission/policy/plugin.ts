import { qualifiedResource } from '../../apimachinery/errors/errors.ts';
import type { ApiObject } from '../../apimachinery/objects/object.ts';
import { defined } from '../../apimachinery/objects/plain.ts';
import { StatusError } from '../../apimachinery/objects/status.ts';
import type { AdmissionAttributes, AdmissionPlugin } from '../../resources/admission.ts';
import type { Registry } from '../../resources/registry.ts';
import { isExemptFromPolicies } from '../matching/match.ts';
import { requestNamespace } from '../matching/request.ts';
import { type Bound, BoundPolicies } from './bound.ts';
import { evaluatePolicy, type Failure } from './evaluate.ts';
import { ParamsError, paramsOf } from './params.ts';
import { type Binding, compilePolicy, type Policy } from './policy.ts';

const CODES: Readonly<Record<string, number>> = {
  Forbidden: 403,
  Unauthorized: 401,
  RequestEntityTooLarge: 413,
  Invalid: 422,
};

/**
 * Returns the error for a request that a policy refuses. The reason in the policy's validation determines the status
 * code.
 */
function refusal({ served, name, object }: AdmissionAttributes, message: string, reason: string): StatusError {
  const { kind } = served;
  const shown = name || object?.metadata.name || object?.metadata.generateName || 'Unknown';
  const { group, plural } = kind;
  return new StatusError({
    message: `${qualifiedResource(kind)} ${JSON.stringify(shown)} is forbidden: ${message}`,
    reason: reason === '' ? 'Invalid' : reason,
    details: defined({
      name: shown,
      group: group || undefined,
      kind: plural,
      causes: [{ message }],
    }),
    code: CODES[reason] ?? 422,
  });
}

function validate(policies: BoundPolicies<Policy>, registry: Registry, attributes: AdmissionAttributes): void {
  let denial: StatusError | undefined;
  for (const bound of policies.applicable(attributes)) {
    for (const failure of failuresOf(policies, registry, bound, attributes)) {
      // A later binding can cause a warning, so the loop continues after the first refusal.
      const refused = act(bound.policy, bound.binding, failure, attributes);
      denial ??= refused;
    }
  }
  if (denial !== undefined) throw denial;
}

function failuresOf(
  policies: BoundPolicies<Policy>,
  registry: Registry,
  { policy, binding, as }: Bound<Policy>,
  attributes: AdmissionAttributes,
): Failure[] {
  const scope = policies.scope(attributes, as);
  let params: readonly (ApiObject | null)[];
  try {
    params = paramsOf(registry, policy, binding, requestNamespace(attributes));
  } catch (error) {
    if (!(error instanceof ParamsError)) throw error;
    return policy.ignoresFailure ? [] : [{ message: error.message, reason: '', ofPolicy: error.ofPolicy }];
  }
  return params.flatMap((param) => evaluatePolicy(policy, { ...scope, params: () => param }));
}

/** The server writes no audit log, so the action Audit has no effect. */
function act(
  policy: Policy,
  binding: Binding,
  failure: Failure,
  attributes: AdmissionAttributes,
): StatusError | undefined {
  const through = failure.ofPolicy === true ? '' : ` with binding '${binding.name}'`;
  const about = `ValidatingAdmissionPolicy '${policy.name}'${through}`;
  if (binding.actions.includes('Warn')) attributes.warn(`Validation failed for ${about}: ${failure.message}`);
  if (!binding.actions.includes('Deny')) return undefined;
  return refusal(attributes, `${about} denied request: ${failure.message}`, failure.reason);
}

export function validatingPolicies(registry: Registry): AdmissionPlugin {
  const policies = new BoundPolicies(registry, 'validating', compilePolicy);
  return {
    name: 'ValidatingAdmissionPolicy',
    validate(attributes) {
      if (!policies.isEmpty && !isExemptFromPolicies(attributes.served)) validate(policies, registry, attributes);
      return undefined;
    },
  };
}
