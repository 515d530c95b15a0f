import { parseJson } from '../../json.ts';
import type { ApiObject } from '../../object.ts';
import type { AdmissionAttributes, AdmissionPlugin } from '../../registry/admission.ts';
import { qualifiedResource } from '../../registry/errors.ts';
import type { ServedKind } from '../../registry/kind-registry.ts';
import type { Registry } from '../../registry/registry.ts';
import { StatusError } from '../../status.ts';
import { Collection } from '../collection.ts';
import type { Scope } from '../expression.ts';
import { equivalents, isExempt, nameMatches, namespacePasses, objectPasses, ruleMatches } from '../match.ts';
import { describeRequest, presented } from '../request.ts';
import { evaluatePolicy, type Failure } from './evaluate.ts';
import { ParamsError, paramsOf } from './params.ts';
import { type Binding, compileBinding, compilePolicy, type MatchResources, type Policy } from './policy.ts';

/** A binding of a policy that may be about a kind, and the version of it that the policy's rules name. */
interface Bound {
  readonly policy: Policy;
  readonly binding: Binding;
  readonly as: ServedKind;
}

const GROUP = 'admissionregistration.k8s.io';
/** When a written policy begins to hold. */
const REFRESH_MS = 100;

const CODES: Readonly<Record<string, number>> = {
  Forbidden: 403,
  Unauthorized: 401,
  RequestEntityTooLarge: 413,
  Invalid: 422,
};

/** The refusal: an admission's words with the code of the validation's reason. */
function refusal({ served, name }: AdmissionAttributes, message: string, reason: string): StatusError {
  const { kind } = served;
  const shown = name === '' ? '' : ` ${JSON.stringify(name)}`;
  const { group, plural } = kind;
  return new StatusError({
    message: `${qualifiedResource(kind)}${shown} is forbidden: ${message}`,
    reason: reason === '' ? 'Invalid' : reason,
    details: {
      ...(name === '' ? {} : { name }),
      ...(group === '' ? {} : { group }),
      kind: plural,
      causes: [{ message }],
    },
    code: CODES[reason] ?? 422,
  });
}

/** Judges requests by ValidatingAdmissionPolicies, through their bindings. */
class Policies {
  readonly #registry: Registry;
  readonly #policies: Collection<Policy>;
  readonly #bindings: Collection<Binding>;
  readonly #found = new Map<string, readonly Bound[]>();

  constructor(registry: Registry) {
    this.#registry = registry;
    this.#policies = new Collection(registry, `${GROUP}/validatingadmissionpolicies`, compilePolicy, REFRESH_MS);
    this.#bindings = new Collection(registry, `${GROUP}/validatingadmissionpolicybindings`, compileBinding, REFRESH_MS);
    const forget = (): void => this.#found.clear();
    this.#policies.onChange(forget);
    this.#bindings.onChange(forget);
    registry.kinds.onChange(forget);
  }

  /** Without a binding no policy has a say. */
  get isEmpty(): boolean {
    return this.#bindings.all.length === 0;
  }

  judge(attributes: AdmissionAttributes): void {
    const { served, subresource, operation } = attributes;
    let denial: StatusError | undefined;
    for (const { policy, binding, as } of this.#about(served, subresource, operation)) {
      if (!this.#passes(policy.matches, attributes) || !this.#passes(binding.matches, attributes)) continue;
      for (const failure of this.#failures(policy, binding, as, attributes)) {
        denial ??= act(policy, binding, failure, attributes);
      }
    }
    if (denial !== undefined) throw denial;
  }

  #failures(policy: Policy, binding: Binding, as: ServedKind, attributes: AdmissionAttributes): Failure[] {
    const { object, old, subresource, namespace } = attributes;
    let request: Record<string, unknown> | undefined;
    const scope: Scope = {
      object: () => presented(object, as, subresource),
      oldObject: () => presented(old, as, subresource),
      request: () => {
        request ??= describeRequest(attributes, as, this.#registry.uid());
        return request;
      },
      namespaceObject: () => this.#namespace(namespace),
    };
    let params: readonly (ApiObject | null)[];
    try {
      params = paramsOf(this.#registry, policy, binding, namespace);
    } catch (error) {
      if (!(error instanceof ParamsError)) throw error;
      const message = `failed to configure binding: ${error.message}`;
      return policy.ignoresFailure ? [] : [{ message, reason: '' }];
    }
    return params.flatMap((param) => evaluatePolicy(policy, { ...scope, params: () => param }));
  }

  /** The namespace of a request as expressions see it. */
  #namespace(name: string): unknown {
    const record = name === '' ? undefined : this.#registry.store.get('/namespaces', '', name);
    return record === undefined ? null : parseJson(record.json);
  }

  #passes(
    { rules, excluded, namespaceSelector, objectSelector }: MatchResources,
    attributes: AdmissionAttributes,
  ): boolean {
    const { served, subresource, operation, name } = attributes;
    const about = (list: MatchResources['rules']) =>
      list.some((rule) => ruleMatches(rule, served, subresource, operation) && nameMatches(rule, name));
    if (excluded.length > 0 && about(excluded)) return false;
    const named = rules.filter(({ resourceNames = [] }) => resourceNames.length > 0);
    // Rules without names were looked at when the policy was found.
    if (rules.length > 0 && named.length === rules.length && !about(rules)) return false;
    return namespacePasses(namespaceSelector, this.#registry, attributes) && objectPasses(objectSelector, attributes);
  }

  #about(served: ServedKind, subresource: string, operation: AdmissionAttributes['operation']): readonly Bound[] {
    const key = `${operation} ${served.apiVersion}/${served.kind.plural}/${subresource}`;
    let found = this.#found.get(key);
    if (found === undefined) {
      const versionOf = ({ rules, exact }: MatchResources): ServedKind | undefined => {
        const candidates = exact ? [served] : [served, ...equivalents(this.#registry.kinds, served)];
        return candidates.find((kind) => rules.some((rule) => ruleMatches(rule, kind, subresource, operation)));
      };
      const bindings = this.#bindings.all;
      found = this.#policies.all.flatMap((policy) => {
        const as = versionOf(policy.matches);
        if (as === undefined) return [];
        return bindings
          .filter(
            ({ policyName, matches }) =>
              policyName === policy.name && (matches.rules.length === 0 || versionOf(matches) !== undefined),
          )
          .map((binding) => ({ policy, binding, as }));
      });
      this.#found.set(key, found);
    }
    return found;
  }
}

/** Does with a failure what the binding asks for: the refusal, when it is to be denied. Audit has no log here to go to. */
function act(
  policy: Policy,
  binding: Binding,
  failure: Failure,
  attributes: AdmissionAttributes,
): StatusError | undefined {
  const about = `ValidatingAdmissionPolicy '${policy.name}' with binding '${binding.name}'`;
  if (binding.actions.includes('Warn')) attributes.warn(`Validation failed for ${about}: ${failure.message}`);
  if (!binding.actions.includes('Deny')) return undefined;
  return refusal(attributes, `${about} denied request: ${failure.message}`, failure.reason);
}

/** ValidatingAdmissionPolicy. */
export function validatingPolicies(registry: Registry): AdmissionPlugin {
  const policies = new Policies(registry);
  return {
    name: 'ValidatingAdmissionPolicy',
    validate(attributes) {
      if (!policies.isEmpty && !isExempt(attributes.served)) policies.judge(attributes);
      return undefined;
    },
  };
}
