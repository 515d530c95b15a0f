import type { ApiObject } from '../../apimachinery/objects/object.ts';
import { jsonEquals } from '../../apimachinery/objects/object-text.ts';
import { defined } from '../../apimachinery/objects/plain.ts';
import { StatusError } from '../../apimachinery/objects/status.ts';
import { readCarried, readMade } from '../../registry/bodies/carried.ts';
import { type AdmissionAttributes, type AdmissionPlugin, Reinvocation } from '../../resources/admission.ts';
import type { Registry } from '../../resources/registry.ts';
import { conditionsHold, LazyVariables, type Scope } from '../matching/expression.ts';
import { isExemptFromPolicies } from '../matching/match.ts';
import { presented, requestNamespace } from '../matching/request.ts';
import { type Bound, BoundPolicies } from './bound.ts';
import { MutationError, mutate } from './mutate.ts';
import { ParamsError, paramsOf } from './params.ts';
import { compileMutatingPolicy, type MutatingPolicy } from './policy.ts';

type Failures = string[];

function refusal({ served, name }: AdmissionAttributes, messages: readonly string[]): StatusError {
  const { group, plural } = served.kind;
  return new StatusError({
    message: messages[0] ?? '',
    reason: 'Invalid',
    details: defined({
      name: name || undefined,
      group: group || undefined,
      kind: plural,
      causes: messages.map((message) => ({ message })),
    }),
    code: 403,
  });
}

function invoke(
  policies: BoundPolicies<MutatingPolicy>,
  registry: Registry,
  { policy, binding, as }: Bound<MutatingPolicy>,
  attributes: AdmissionAttributes,
  failures: Failures,
): ApiObject | undefined {
  const addProblem = (message: string, ofPolicy = false): void => {
    if (policy.ignoresFailure) return;
    const through = ofPolicy ? '' : ` with binding '${binding.name}'`;
    failures.push(`policy '${policy.name}'${through} denied request: ${message}`);
  };
  let current = presented(attributes.object, as, attributes);
  const base = policies.scope(attributes, as);
  const structure = attributes.carries ?? as;
  try {
    for (const param of paramsOf(registry, policy, binding, requestNamespace(attributes))) {
      const fixed: Scope = { ...base, object: () => current, params: () => param };
      const held = conditionsHold(policy.conditions, fixed);
      if (held === false) continue;
      if (held !== true) {
        addProblem(held.error);
        continue;
      }
      for (const mutation of policy.mutations) {
        // The variables of a policy may depend on the object, so each mutation evaluates the variables again.
        const scope: Scope = { ...fixed, variables: new LazyVariables(policy.variables, fixed) };
        current =
          current === null
            ? null
            : attempt(() => mutate(current as ApiObject, mutation, structure, scope), addProblem, current);
      }
    }
  } catch (error) {
    if (!(error instanceof ParamsError)) throw error;
    addProblem(error.message, error.ofPolicy);
  }
  return current ?? undefined;
}

function attempt(make: () => ApiObject, addProblem: (message: string) => void, otherwise: ApiObject): ApiObject {
  try {
    return make();
  } catch (error) {
    if (!(error instanceof MutationError)) throw error;
    addProblem(error.message);
    return otherwise;
  }
}

/** Converts a mutated object to the version of the request, and validates the object like a request body. */
function taken(made: ApiObject, attributes: AdmissionAttributes, apiVersion: string): ApiObject {
  const changed = structuredClone(made);
  if (attributes.carries !== undefined) return readCarried(changed, attributes);
  return readMade(changed, attributes.served, apiVersion, true);
}

/**
 * MutatingAdmissionPolicy runs the policies in order. If later policies change the object, a policy with reinvocation
 * runs again. As in kube-apiserver, a field that a policy changes has no manager in managedFields.
 */
export function mutatingPolicies(registry: Registry): AdmissionPlugin {
  const policies = new BoundPolicies(registry, 'mutating', compileMutatingPolicy);

  const run = (attributes: AdmissionAttributes): ApiObject | undefined => {
    const failures: Failures = [];
    const repeats = (attributes.reinvocation ?? new Reinvocation()).of(policies);
    let { object } = attributes;
    repeats.begin(object);
    for (const bound of policies.applicable(attributes)) {
      // The two rounds use different policy objects. Both rounds use the same binding objects, so a binding identifies
      // its policy.
      if (repeats.isSkipped(bound.binding)) continue;
      const seen = { ...attributes, object };
      const made = invoke(policies, registry, bound, seen, failures);
      const changed = made !== undefined && !jsonEquals(made, presented(object, bound.as, attributes));
      if (changed) object = taken(made, seen, bound.as.apiVersion);
      repeats.ran(bound.binding, bound.policy.reinvoked, changed);
    }
    repeats.end(object);
    if (failures.length > 0) throw refusal(attributes, failures);
    return object;
  };

  return {
    name: 'MutatingAdmissionPolicy',
    admit(attributes) {
      const { object, served } = attributes;
      if (policies.isEmpty || object === undefined || isExemptFromPolicies(served)) return undefined;
      return run(attributes);
    },
  };
}
