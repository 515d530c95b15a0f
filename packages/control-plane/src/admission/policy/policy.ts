import type { ApiObject } from '../../apimachinery/objects/object.ts';
import { look, text } from '../../apimachinery/objects/plain.ts';
import {
  type LabelSelector,
  type SelectorObject,
  selectorDemands,
  selectorOf,
} from '../../selectors/label-selector.ts';
import type { Demand } from '../../store/demand.ts';
import { Expression } from '../matching/expression.ts';
import type { About } from '../matching/guard-words.ts';
import { compileSelector, type MatchRule } from '../matching/match.ts';

interface MatchResourcesObject {
  readonly resourceRules?: readonly MatchRule[];
  readonly excludeResourceRules?: readonly MatchRule[];
  readonly namespaceSelector?: SelectorObject;
  readonly objectSelector?: SelectorObject;
  readonly matchPolicy?: string;
}

/** `MatchResources` selects the requests to which a policy or a binding applies. */
export interface MatchResources {
  /** The rules of a policy or a binding. A binding with an empty list of rules applies to every resource. */
  readonly rules: readonly MatchRule[];
  readonly excluded: readonly MatchRule[];
  readonly namespaceSelector: LabelSelector | undefined;
  readonly objectSelector: LabelSelector | undefined;
  readonly exact: boolean;
  readonly about: About;
}

export interface Validation {
  readonly expression: Expression;
  readonly message: string;
  readonly messageExpression: Expression | undefined;
  readonly reason: string;
}

export interface PolicyBase {
  readonly name: string;
  readonly ignoresFailure: boolean;
  readonly matches: MatchResources;
  readonly conditions: readonly Expression[];
  readonly variables: ReadonlyMap<string, Expression>;
  readonly paramKind: { readonly apiVersion: string; readonly kind: string } | undefined;
}

export interface Policy extends PolicyBase {
  readonly validations: readonly Validation[];
}

export interface Mutation {
  readonly sort: 'ApplyConfiguration' | 'JSONPatch';
  readonly expression: Expression;
}

export interface MutatingPolicy extends PolicyBase {
  readonly mutations: readonly Mutation[];
  /** Whether the policy runs again after a later policy has changed the object. */
  readonly reinvoked: boolean;
}

interface PolicySpec {
  readonly failurePolicy?: string;
  readonly matchConstraints?: MatchResourcesObject;
  readonly matchConditions?: readonly { readonly expression: string }[];
  readonly variables?: readonly { readonly name: string; readonly expression: string }[];
  readonly validations?: readonly {
    readonly expression: string;
    readonly message?: string;
    readonly messageExpression?: string;
    readonly reason?: string;
  }[];
  readonly paramKind?: { readonly apiVersion: string; readonly kind: string };
  readonly mutations?: readonly {
    readonly patchType: Mutation['sort'];
    readonly applyConfiguration?: { readonly expression: string };
    readonly jsonPatch?: { readonly expression: string };
  }[];
  readonly reinvocationPolicy?: string;
}

const compileMatch = (match: MatchResourcesObject = {}): MatchResources => ({
  rules: match.resourceRules ?? [],
  excluded: match.excludeResourceRules ?? [],
  namespaceSelector: compileSelector(match.namespaceSelector),
  objectSelector: compileSelector(match.objectSelector),
  exact: match.matchPolicy === 'Exact',
  about: {
    rules: match.resourceRules ?? [],
    namespaceSelector: match.namespaceSelector,
    objectSelector: match.objectSelector,
  },
});

function compileBase(object: ApiObject, spec: PolicySpec): PolicyBase {
  return {
    name: object.metadata.name ?? '',
    ignoresFailure: spec.failurePolicy === 'Ignore',
    matches: compileMatch(spec.matchConstraints),
    conditions: (spec.matchConditions ?? []).map(({ expression }) => new Expression(expression)),
    variables: new Map((spec.variables ?? []).map(({ name, expression }) => [name, new Expression(expression)])),
    paramKind: spec.paramKind,
  };
}

/** Compiles the expressions of a policy. */
export function compilePolicy(object: ApiObject): Policy {
  const spec = (object['spec'] ?? {}) as PolicySpec;
  return {
    ...compileBase(object, spec),
    validations: (spec.validations ?? []).map(({ expression, message = '', messageExpression = '', reason = '' }) => ({
      expression: new Expression(expression),
      message: message.trim(),
      messageExpression: messageExpression === '' ? undefined : new Expression(messageExpression),
      reason,
    })),
  };
}

export function compileMutatingPolicy(object: ApiObject): MutatingPolicy {
  const spec = (object['spec'] ?? {}) as PolicySpec;
  return {
    ...compileBase(object, spec),
    mutations: (spec.mutations ?? []).map(({ patchType, applyConfiguration, jsonPatch }) => ({
      sort: patchType,
      expression: new Expression((patchType === 'JSONPatch' ? jsonPatch : applyConfiguration)?.expression ?? '', true),
    })),
    reinvoked: spec.reinvocationPolicy === 'IfNeeded',
  };
}

interface ParamRef {
  readonly name: string;
  readonly namespace: string;
  readonly selector: LabelSelector | undefined;
  /**
   * The requirements that a parameter object must meet, so that the selector selects the object. An index can evaluate
   * these requirements.
   */
  readonly where: readonly Demand[];
  /** Whether the server refuses the request if a parameter object is missing. */
  readonly required: boolean;
}

export interface Binding {
  readonly name: string;
  readonly policyName: string;
  readonly matches: MatchResources;
  readonly actions: readonly string[];
  readonly paramRef: ParamRef | undefined;
}

export function compileBinding(object: ApiObject): Binding {
  const spec = look(object, 'spec');
  const { paramRef } = spec;
  const ref = look(spec, 'paramRef');
  return {
    name: object.metadata.name ?? '',
    policyName: text(spec, 'policyName'),
    matches: compileMatch(look(spec, 'matchResources') as MatchResourcesObject),
    actions: (spec.validationActions as readonly string[] | undefined) ?? [],
    paramRef:
      paramRef === undefined || paramRef === null
        ? undefined
        : {
            name: text(ref, 'name'),
            namespace: text(ref, 'namespace'),
            selector: ref.selector === undefined ? undefined : selectorOf(ref.selector as SelectorObject),
            where: selectorDemands(look(ref, 'selector') as SelectorObject),
            required: ref.parameterNotFoundAction === 'Deny',
          },
  };
}
