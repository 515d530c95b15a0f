import { parseJson } from '../../json.ts';
import type { ApiObject } from '../../object.ts';
import type { AdmissionAttributes } from '../../registry/admission.ts';
import type { ServedKind } from '../../registry/kind-registry.ts';
import type { Registry } from '../../registry/registry.ts';
import { authorizerScope } from '../authorizer.ts';
import { Collection } from '../collection.ts';
import type { Scope } from '../expression.ts';
import { equivalents, nameMatches, namespacePasses, objectPasses, ruleMatches } from '../match.ts';
import { describeRequest, presented } from '../request.ts';
import { type Binding, compileBinding, type MatchResources, type PolicyBase } from './policy.ts';

/** A binding of a policy that may be about a kind, and the version of it that the policy's rules name. */
export interface Bound<P extends PolicyBase> {
  readonly policy: P;
  readonly binding: Binding;
  readonly as: ServedKind;
}

const GROUP = 'admissionregistration.k8s.io';
/** When a written policy begins to hold. */
const REFRESH_MS = 100;

/** Policies of one sort with their bindings, found by what a request is about. */
export class BoundPolicies<P extends PolicyBase> {
  readonly #registry: Registry;
  readonly #policies: Collection<P>;
  readonly #bindings: Collection<Binding>;
  readonly #found = new Map<string, readonly Bound<P>[]>();

  /** `sort`: `validating` or `mutating`, as their resources begin. */
  constructor(registry: Registry, sort: string, compile: (object: ApiObject) => P) {
    this.#registry = registry;
    this.#policies = new Collection(registry, `${GROUP}/${sort}admissionpolicies`, compile, REFRESH_MS);
    this.#bindings = new Collection(registry, `${GROUP}/${sort}admissionpolicybindings`, compileBinding, REFRESH_MS);
    const forget = (): void => this.#found.clear();
    this.#policies.onChange(forget);
    this.#bindings.onChange(forget);
    registry.kinds.onChange(forget);
  }

  /** Without a binding no policy has a say. */
  get isEmpty(): boolean {
    return this.#bindings.all.length === 0;
  }

  /** Those that a request passes to, in the order of their names. */
  applicable(attributes: AdmissionAttributes): Bound<P>[] {
    const { served, subresource, operation } = attributes;
    return this.#about(served, subresource, operation).filter(
      ({ policy, binding }) => this.#passes(policy.matches, attributes) && this.#passes(binding.matches, attributes),
    );
  }

  /** What expressions see of a request. */
  scope(attributes: AdmissionAttributes, as: ServedKind): Scope {
    const { object, old, subresource, namespace } = attributes;
    let request: Record<string, unknown> | undefined;
    return {
      object: () => presented(object, as, subresource),
      oldObject: () => presented(old, as, subresource),
      request: () => {
        request ??= describeRequest(attributes, as, this.#registry.uid());
        return request;
      },
      namespaceObject: () => this.#namespace(namespace),
      ...authorizerScope(this.#registry, attributes, as),
    };
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

  #about(served: ServedKind, subresource: string, operation: AdmissionAttributes['operation']): readonly Bound<P>[] {
    const key = `${operation} ${served.apiVersion}/${served.kind.plural}/${subresource}`;
    let found = this.#found.get(key);
    if (found === undefined) {
      const versionOf = ({ rules, exact }: MatchResources): ServedKind | undefined => {
        const candidates = exact ? [served] : [served, ...equivalents(this.#registry.kinds, served)];
        return candidates.find((kind) => rules.some((rule) => ruleMatches(rule, kind, subresource, operation)));
      };
      const bindings = Map.groupBy(this.#bindings.all, ({ policyName }) => policyName);
      found = this.#policies.all.flatMap((policy) => {
        const as = versionOf(policy.matches);
        if (as === undefined) return [];
        return (bindings.get(policy.name) ?? [])
          .filter(({ matches }) => matches.rules.length === 0 || versionOf(matches) !== undefined)
          .map((binding) => ({ policy, binding, as }));
      });
      this.#found.set(key, found);
    }
    return found;
  }
}
