import { parseJson } from '../../json.ts';
import { isPlain } from '../../kinds/plain.ts';
import type { ApiObject, JsonObject } from '../../object.ts';
import { applyJsonPatch } from '../../patch/index.ts';
import type { AdmissionAttributes, AdmissionPlugin } from '../../registry/admission.ts';
import { readCarried } from '../../registry/carried.ts';
import { normalize } from '../../registry/decode.ts';
import { badRequest, forbidden } from '../../registry/errors.ts';
import type { ServedKind } from '../../registry/kind-registry.ts';
import { jsonEquals } from '../../registry/object-text.ts';
import type { Registry } from '../../registry/registry.ts';
import { StatusError } from '../../status.ts';
import { authorizerScope } from '../authorizer.ts';
import { conditionsHold, type Scope } from '../expression.ts';
import { GuardIndex } from '../guard-index.ts';
import { isExempt, namespacePasses, objectPasses, versionNamed } from '../match.ts';
import { describeRequest, presented } from '../request.ts';
import { callWebhook, failureOf, refusalOf, WebhookFailure } from './call.ts';
import { type Hook, hooksOf } from './hook.ts';
import type { WebhookTransport } from './transport.ts';

/** A webhook that is about a kind, and the version of it that its rules name. */
interface Invocation {
  readonly hook: Hook;
  readonly as: ServedKind;
}

/** The webhooks of one sort of configuration, found by kind and operation without looking at each of them. */
class Hooks {
  readonly #registry: Registry;
  readonly #transport: WebhookTransport;
  readonly #hooks: GuardIndex<Hook>;

  constructor(registry: Registry, transport: WebhookTransport, plural: string) {
    this.#registry = registry;
    this.#transport = transport;
    this.#hooks = new GuardIndex(registry, `admissionregistration.k8s.io/${plural}`, hooksOf);
  }

  /** Whether there is any at all: most clusters have none. */
  get isEmpty(): boolean {
    return this.#hooks.isEmpty;
  }

  /** Those to ask about a request, in order. @throws StatusError 400 or 403 when one cannot be asked */
  select(attributes: AdmissionAttributes): Invocation[] {
    const { dryRun } = attributes;
    return this.#about(attributes).filter(({ hook, as }) => {
      if (!namespacePasses(hook.namespaceSelector, this.#registry, attributes)) return false;
      if (!objectPasses(hook.objectSelector, attributes) || !this.#conditionsHold(hook, as, attributes)) return false;
      if (dryRun && !hook.dryRuns) {
        throw badRequest(`admission webhook ${JSON.stringify(hook.name)} does not support dry run`);
      }
      return true;
    });
  }

  /** Asks one. @throws StatusError of its refusal or failure; undefined: it failed and does not matter */
  async ask({ hook, as }: Invocation, attributes: AdmissionAttributes): Promise<string | undefined> {
    try {
      const verdict = await callWebhook(this.#registry, this.#transport, hook, as, attributes);
      for (const warning of verdict.warnings) attributes.warn(warning);
      if (!verdict.allowed) throw refusalOf(hook, verdict.status);
      return verdict.patch;
    } catch (error) {
      if (!(error instanceof WebhookFailure)) throw error;
      if (hook.ignoresFailure) return undefined;
      throw failureOf(hook, error);
    }
  }

  #about(attributes: AdmissionAttributes): Invocation[] {
    return this.#hooks.find(attributes).flatMap((hook) => {
      const as = versionNamed(this.#registry.kinds, hook.rules, hook.exact, attributes);
      return as === undefined ? [] : [{ hook, as }];
    });
  }

  #conditionsHold(hook: Hook, as: ServedKind, attributes: AdmissionAttributes): boolean {
    if (hook.conditions.length === 0) return true;
    const { object, old, served, name } = attributes;
    const scope: Scope = {
      object: () => presented(object, as, attributes),
      oldObject: () => presented(old, as, attributes),
      request: () => describeRequest(attributes, as, this.#registry.uid()),
      ...authorizerScope(this.#registry, attributes, as),
    };
    const held = conditionsHold(hook.conditions, scope);
    if (typeof held === 'boolean') return held;
    if (hook.ignoresFailure) return false;
    throw forbidden(served.kind, name, held.error);
  }
}

/** Applies a webhook's patch. The result is read as a request's body is: unknown fields go, defaults come. */
function patched(attributes: AdmissionAttributes, { hook, as }: Invocation, patch: string): ApiObject | undefined {
  const { object, served, carries } = attributes;
  if (object === undefined) return undefined;
  const operations: unknown = parseJson(Buffer.from(patch, 'base64').toString('utf8'));
  if (Array.isArray(operations) && operations.length === 0) return object;
  const seen = structuredClone(presented(object, as, attributes)) as unknown as JsonObject;
  let changed: ApiObject;
  try {
    changed = applyJsonPatch(seen, operations) as unknown as ApiObject;
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new StatusError({
      message: `Internal error occurred: applying the patch of admission webhook ${JSON.stringify(hook.name)}: ${why}`,
      reason: 'InternalError',
      code: 500,
    });
  }
  if (carries !== undefined) return readCarried(changed, attributes);
  changed.apiVersion = served.apiVersion;
  if (!isPlain(changed.metadata)) changed.metadata = object.metadata;
  normalize(changed, served);
  return changed;
}

/** MutatingAdmissionWebhook: one after another, and those that want it once more when a later one has changed the object. */
export function mutatingWebhooks(registry: Registry, transport: WebhookTransport): AdmissionPlugin {
  const hooks = new Hooks(registry, transport, 'mutatingwebhookconfigurations');

  const run = async (
    invocations: readonly Invocation[],
    attributes: AdmissionAttributes,
    object: ApiObject | undefined,
    done: (invocation: Invocation, object: ApiObject | undefined, changed: boolean) => void,
  ): Promise<ApiObject | undefined> => {
    let current = object;
    for (const invocation of invocations) {
      const seen = { ...attributes, object: current };
      const { hook } = invocation;
      // An earlier one may have changed what its selector looks at.
      if (!objectPasses(hook.objectSelector, seen)) continue;
      const patch = await hooks.ask(invocation, seen);
      const next = patch === undefined ? current : patched(seen, invocation, patch);
      const changed = next !== current && !jsonEquals(next, current);
      if (changed) current = next;
      done(invocation, current, changed);
    }
    return current;
  };

  return {
    name: 'MutatingAdmissionWebhook',
    admit(attributes) {
      if (hooks.isEmpty || isExempt(attributes.served)) return undefined;
      const invocations = hooks.select(attributes);
      if (invocations.length === 0) return undefined;
      return (async () => {
        /** What each that is asked again when needed has seen last. */
        const again = new Map<Invocation, ApiObject | undefined>();
        const object = await run(invocations, attributes, attributes.object, (invocation, seen) => {
          if (invocation.hook.reinvoked) again.set(invocation, seen);
        });
        const outdated = [...again].filter(([, seen]) => seen !== object).map(([invocation]) => invocation);
        return run(outdated, attributes, object, () => undefined);
      })();
    },
  };
}

/** ValidatingAdmissionWebhook: all at once; the first in order that refuses is answered. */
export function validatingWebhooks(registry: Registry, transport: WebhookTransport): AdmissionPlugin {
  const hooks = new Hooks(registry, transport, 'validatingwebhookconfigurations');
  return {
    name: 'ValidatingAdmissionWebhook',
    validate(attributes) {
      if (hooks.isEmpty || isExempt(attributes.served)) return undefined;
      const invocations = hooks.select(attributes);
      if (invocations.length === 0) return undefined;
      return (async () => {
        const results = await Promise.allSettled(invocations.map((invocation) => hooks.ask(invocation, attributes)));
        for (const result of results) if (result.status === 'rejected') throw result.reason;
        return undefined;
      })();
    },
  };
}
