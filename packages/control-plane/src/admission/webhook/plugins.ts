import { badRequest, notAdmitted } from '../../apimachinery/errors/errors.ts';
import type { ApiObject } from '../../apimachinery/objects/object.ts';
import { type AdmissionAttributes, type AdmissionPlugin, Reinvocation } from '../../resources/admission.ts';
import type { ServedKind } from '../../resources/kind-registry.ts';
import type { Registry } from '../../resources/registry.ts';
import { authorizerScope } from '../matching/authorizer.ts';
import { conditionsHold, type Scope } from '../matching/expression.ts';
import { GuardIndex } from '../matching/guard-index.ts';
import { isExempt, namespacePasses, objectPasses, versionNamed } from '../matching/match.ts';
import { describeRequest, presented } from '../matching/request.ts';
import { callWebhook, failureOf, refusalOf } from './call.ts';
import { type Hook, hooksOf, type Invocation, isAfter } from './hook.ts';
import { Patching } from './patching.ts';
import { type Verdict, WebhookFailure } from './reply.ts';
import type { WebhookTransport } from './transport.ts';

class Hooks {
  readonly #registry: Registry;
  readonly #transport: WebhookTransport;
  readonly #hooks: GuardIndex<Hook>;
  readonly #mutates: boolean;

  constructor(registry: Registry, transport: WebhookTransport, sort: 'mutating' | 'validating') {
    this.#registry = registry;
    this.#transport = transport;
    this.#hooks = new GuardIndex(registry, `admissionregistration.k8s.io/${sort}webhookconfigurations`, hooksOf);
    this.#mutates = sort === 'mutating';
  }

  get isEmpty(): boolean {
    return this.#hooks.isEmpty;
  }

  find(attributes: AdmissionAttributes): readonly Hook[] {
    return this.#hooks.find(attributes);
  }

  /** @throws StatusError 403 if the evaluation of a match condition fails */
  invocation(hook: Hook, attributes: AdmissionAttributes): Invocation | undefined {
    const as = versionNamed(this.#registry.kinds, hook.rules, hook.exact, attributes);
    if (as === undefined) return undefined;
    if (!namespacePasses(hook.namespaceSelector, this.#registry, attributes)) return undefined;
    if (!objectPasses(hook.objectSelector, attributes) || !this.#conditionsHold(hook, as, attributes)) return undefined;
    return { hook, as };
  }

  /** @throws StatusError if the webhook refuses the request, or WebhookFailure if the call fails */
  async ask({ hook, as }: Invocation, attributes: AdmissionAttributes): Promise<Verdict> {
    if (attributes.dryRun && !hook.dryRuns) {
      throw badRequest(`admission webhook ${JSON.stringify(hook.name)} does not support dry run`);
    }
    const verdict = await callWebhook(this.#registry, this.#transport, hook, as, attributes, this.#mutates);
    for (const warning of verdict.warnings) attributes.warn(warning);
    if (!verdict.allowed) throw refusalOf(hook, verdict.status);
    return verdict;
  }

  #conditionsHold(hook: Hook, as: ServedKind, attributes: AdmissionAttributes): boolean {
    if (hook.conditions.length === 0) return true;
    const { object, old } = attributes;
    const scope: Scope = {
      object: () => presented(object, as, attributes),
      oldObject: () => presented(old, as, attributes),
      request: () => describeRequest(attributes, as, this.#registry.uid()),
      // As in kube-apiserver, the variable `namespaceObject` of match conditions is an empty object.
      namespaceObject: () => ({}),
      ...authorizerScope(this.#registry, attributes, as),
    };
    const held = conditionsHold(hook.conditions, scope);
    if (typeof held === 'boolean') return held;
    if (hook.ignoresFailure) return false;
    throw notAdmitted(attributes, held.error);
  }
}

/** @throws StatusError if the failure policy of the webhook is Fail */
function tolerate(error: unknown, hook: Hook): void {
  if (!(error instanceof WebhookFailure)) throw error;
  if (!hook.ignoresFailure) throw failureOf(hook, error);
}

/**
 * MutatingAdmissionWebhook calls the webhooks in order. Each webhook gets the object that the previous webhook
 * returned. If later webhooks changed the object, a second round calls webhooks with reinvocation again.
 */
export function mutatingWebhooks(registry: Registry, transport: WebhookTransport): AdmissionPlugin {
  const hooks = new Hooks(registry, transport, 'mutating');

  const run = async (attributes: AdmissionAttributes, first: readonly Hook[]): Promise<ApiObject | undefined> => {
    const repeats = (attributes.reinvocation ?? new Reinvocation()).of(hooks);
    const patching = new Patching(attributes);
    let { object } = attributes;
    repeats.begin(object);
    let waiting = first;
    for (let hook = waiting[0]; hook !== undefined; hook = waiting[0]) {
      waiting = waiting.slice(1);
      const current = hook;
      const seen = { ...attributes, object };
      const invocation = hooks.invocation(hook, seen);
      if (invocation === undefined || repeats.isSkipped(hook)) continue;
      let changed = false;
      try {
        const made = patching.apply(seen, invocation, await hooks.ask(invocation, seen));
        if (made !== undefined) {
          changed = made.changed;
          object = made.object;
          // The patch may have changed the labels of the object, so other webhooks may match now.
          waiting = hooks.find({ ...attributes, object }).filter((other) => isAfter(other, current));
        }
      } catch (error) {
        tolerate(error, hook);
      }
      repeats.ran(hook, hook.reinvoked, changed);
    }
    repeats.end(object);
    return object;
  };

  return {
    name: 'MutatingAdmissionWebhook',
    admit(attributes) {
      if (hooks.isEmpty || isExempt(attributes.served)) return undefined;
      const found = hooks.find(attributes);
      return found.length === 0 ? undefined : run(attributes, found);
    },
  };
}

/**
 * ValidatingAdmissionWebhook calls all webhooks in parallel, waits for all responses, and reports the first refusal.
 */
export function validatingWebhooks(registry: Registry, transport: WebhookTransport): AdmissionPlugin {
  const hooks = new Hooks(registry, transport, 'validating');
  return {
    name: 'ValidatingAdmissionWebhook',
    validate(attributes) {
      if (hooks.isEmpty || isExempt(attributes.served)) return undefined;
      const invocations = hooks.find(attributes).flatMap((hook) => hooks.invocation(hook, attributes) ?? []);
      if (invocations.length === 0) return undefined;
      return (async () => {
        const refusals: unknown[] = [];
        await Promise.all(
          invocations.map(async (invocation) => {
            try {
              await hooks.ask(invocation, attributes).catch((error: unknown) => tolerate(error, invocation.hook));
            } catch (error) {
              refusals.push(error);
            }
          }),
        );
        if (refusals.length > 0) throw refusals[0];
        return undefined;
      })();
    },
  };
}
