import { parseJson } from '../../apimachinery/objects/json.ts';
import type { ApiObject } from '../../apimachinery/objects/object.ts';
import type { AdmissionAttributes } from '../../resources/admission.ts';
import type { ServedKind } from '../../resources/kind-registry.ts';
import type { Registry } from '../../resources/registry.ts';
import { authorizerScope } from '../matching/authorizer.ts';
import type { Scope } from '../matching/expression.ts';
import { GuardIndex } from '../matching/guard-index.ts';
import { nameMatches, namespacePasses, objectPasses, ruleMatches, versionNamed } from '../matching/match.ts';
import { describeRequest, presented } from '../matching/request.ts';
import { type Binding, compileBinding, type MatchResources, type PolicyBase } from './policy.ts';

export interface Bound<P extends PolicyBase> {
  readonly policy: P;
  readonly binding: Binding;
  readonly as: ServedKind;
}

const GROUP = 'admissionregistration.k8s.io';
/** The delay after which a written policy takes effect, in milliseconds. */
const REFRESH_MS = 100;

export class BoundPolicies<P extends PolicyBase> {
  readonly #registry: Registry;
  readonly #policies: GuardIndex<P>;
  readonly #bindings: GuardIndex<Binding>;

  constructor(registry: Registry, sort: string, compile: (object: ApiObject) => P) {
    this.#registry = registry;
    const policyGuards = (object: ApiObject) => {
      const policy = compile(object);
      return policy.matches.rules.length === 0 ? [] : [{ item: policy, about: policy.matches.about }];
    };
    const bindingGuards = (object: ApiObject) => {
      const binding = compileBinding(object);
      return [{ item: binding, about: binding.matches.about, owner: binding.policyName }];
    };
    this.#policies = new GuardIndex(registry, `${GROUP}/${sort}admissionpolicies`, policyGuards, REFRESH_MS);
    this.#bindings = new GuardIndex(registry, `${GROUP}/${sort}admissionpolicybindings`, bindingGuards, REFRESH_MS);
  }

  /** A policy without a binding applies to no request. */
  get isEmpty(): boolean {
    return this.#bindings.isEmpty;
  }

  applicable(attributes: AdmissionAttributes): Bound<P>[] {
    return this.#about(attributes).filter(
      ({ policy, binding }) => this.#passes(policy.matches, attributes) && this.#passes(binding.matches, attributes),
    );
  }

  scope(attributes: AdmissionAttributes, as: ServedKind): Scope {
    const { object, old, namespace } = attributes;
    let request: Record<string, unknown> | undefined;
    return {
      object: () => presented(object, as, attributes),
      oldObject: () => presented(old, as, attributes),
      request: () => {
        request ??= describeRequest(attributes, as, this.#registry.uid());
        return request;
      },
      namespaceObject: () => this.#namespace(namespace),
      ...authorizerScope(this.#registry, attributes, as),
    };
  }

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
    // The index has already compared the rules with the request, except the resource names.
    if (rules.length > 0 && named.length === rules.length && !about(rules)) return false;
    return namespacePasses(namespaceSelector, this.#registry, attributes) && objectPasses(objectSelector, attributes);
  }

  #about(attributes: AdmissionAttributes): Bound<P>[] {
    const versionOf = ({ rules, exact }: MatchResources): ServedKind | undefined =>
      versionNamed(this.#registry.kinds, rules, exact, attributes);
    return this.#policies.find(attributes).flatMap((policy) => {
      const as = versionOf(policy.matches);
      if (as === undefined) return [];
      return this.#bindings
        .find(attributes, policy.name)
        .filter(({ matches }) => matches.rules.length === 0 || versionOf(matches) !== undefined)
        .map((binding) => ({ policy, binding, as }));
    });
  }
}
