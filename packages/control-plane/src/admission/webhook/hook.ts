import type { ApiObject } from '../../apimachinery/objects/object.ts';
import type { ServedKind } from '../../resources/kind-registry.ts';
import type { LabelSelector, SelectorObject } from '../../selectors/label-selector.ts';
import { Expression } from '../matching/expression.ts';
import type { Guard } from '../matching/guard-index.ts';
import { compileSelector, type MatchRule } from '../matching/match.ts';

interface WebhookObject {
  readonly name: string;
  readonly clientConfig: ClientConfig;
  readonly rules?: readonly MatchRule[];
  readonly failurePolicy?: 'Fail' | 'Ignore';
  readonly matchPolicy?: 'Exact' | 'Equivalent';
  readonly namespaceSelector?: SelectorObject;
  readonly objectSelector?: SelectorObject;
  readonly sideEffects?: string;
  readonly timeoutSeconds?: number;
  readonly admissionReviewVersions?: readonly string[];
  readonly reinvocationPolicy?: 'Never' | 'IfNeeded';
  readonly matchConditions?: readonly { readonly name: string; readonly expression: string }[];
}

export interface ClientConfig {
  readonly url?: string;
  readonly service?: {
    readonly namespace: string;
    readonly name: string;
    readonly path?: string;
    readonly port?: number;
  };
  readonly caBundle?: string;
}

export interface Hook {
  readonly name: string;
  /** The server sorts webhooks by the name of the configuration, and then by their position. */
  readonly configuration: string;
  readonly position: number;
  readonly clientConfig: ClientConfig;
  readonly rules: readonly MatchRule[];
  readonly ignoresFailure: boolean;
  readonly exact: boolean;
  /** The namespaces to which the webhook applies, or undefined for all namespaces. */
  readonly namespaceSelector: LabelSelector | undefined;
  readonly objectSelector: LabelSelector | undefined;
  readonly timeoutSeconds: number;
  readonly dryRuns: boolean;
  readonly version: 'v1' | 'v1beta1';
  /** Whether the server calls the webhook again after a later webhook has changed the object. */
  readonly reinvoked: boolean;
  readonly conditions: readonly Expression[];
}

export const isAfter = (one: Hook, other: Hook): boolean =>
  one.configuration === other.configuration ? one.position > other.position : one.configuration > other.configuration;

const DEFAULT_TIMEOUT = 10;

function compileHook(webhook: WebhookObject, configuration: string, position: number): Hook {
  const { admissionReviewVersions = ['v1'] } = webhook;
  return {
    name: webhook.name,
    configuration,
    position,
    clientConfig: webhook.clientConfig,
    rules: webhook.rules ?? [],
    ignoresFailure: webhook.failurePolicy === 'Ignore',
    exact: webhook.matchPolicy === 'Exact',
    namespaceSelector: compileSelector(webhook.namespaceSelector),
    objectSelector: compileSelector(webhook.objectSelector),
    timeoutSeconds: webhook.timeoutSeconds ?? DEFAULT_TIMEOUT,
    dryRuns: webhook.sideEffects === 'None' || webhook.sideEffects === 'NoneOnDryRun',
    version:
      admissionReviewVersions.find((version) => version === 'v1' || version === 'v1beta1') === 'v1beta1'
        ? 'v1beta1'
        : 'v1',
    reinvoked: webhook.reinvocationPolicy === 'IfNeeded',
    conditions: (webhook.matchConditions ?? []).map(({ expression }) => new Expression(expression)),
  };
}

/**
 * Returns the webhooks of a configuration. A webhook without rules matches no request, so the function omits the
 * webhook.
 */
export const hooksOf = (configuration: ApiObject): Guard<Hook>[] =>
  ((configuration.webhooks as readonly WebhookObject[] | undefined) ?? []).flatMap((webhook, position) => {
    const { rules = [], namespaceSelector, objectSelector } = webhook;
    if (rules.length === 0) return [];
    const item = compileHook(webhook, configuration.metadata.name ?? '', position);
    return [{ item, about: { rules, namespaceSelector, objectSelector } }];
  });

export interface Invocation {
  readonly hook: Hook;
  readonly as: ServedKind;
}
