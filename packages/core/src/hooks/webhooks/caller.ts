import { type EventReason, type Machine, type MachineClass, machines } from '@mcm/api';
import {
  again,
  backoffMs,
  type Clock,
  done,
  type EventRecorder,
  type Fence,
  ignoreNotFound,
  type Key,
  type KubeClient,
  type Logger,
  type Outcome,
  type Random,
  soonest,
  type Transport,
} from '@mcm/kube';
import type { Caches } from '../../cluster/caches.ts';
import type { HookStage } from '../definitions.ts';
import { hookKey, ignoresHooks, type PendingHook, pendingHooksOf } from '../pending.ts';
import { callHookWebhook, type HookAnswer } from './call.ts';
import type { HookWebhook } from './config.ts';

export type ObserveHookCall = (webhook: string, outcome: HookAnswer['is']) => void;

export interface HookCallerOptions {
  readonly webhook: HookWebhook;
  readonly transport: Transport;
  readonly caches: Pick<Caches, 'machines'>;
  readonly classOf: (machine: Machine) => MachineClass | undefined;
  readonly control: KubeClient;
  readonly interruptions: boolean;
  readonly fence: Fence | undefined;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly recorder: EventRecorder<EventReason>;
  readonly observe: ObserveHookCall;
}

const RETRY = { baseMs: 5_000, maxMs: 300_000, jitter: 0.25 } as const;
/** The delay before the next call if the response contains no `retryAfterSeconds`. */
const POLL_MS = 30_000;
const SHORTEST_POLL_MS = 1_000;

/** The calls of this process for one hook. After a restart of the process, mcm calls the webhook immediately. */
interface Attempt {
  readonly failures: number;
  readonly nextAt: Date;
}

const STAGES: Readonly<Record<'living' | 'dying', readonly HookStage[]>> = {
  living: ['before-create', 'after-ready'],
  dying: ['before-drain', 'before-delete'],
};

/**
 * Calls a webhook for all hooks that name the webhook as their owner.
 * - Only the annotation of the hook on the Machine stores the progress of the hook.
 */
export class HookCaller {
  readonly #options: HookCallerOptions;
  readonly #attempts = new Map<Key, Map<string, Attempt>>();
  #keyProblem: string | undefined;

  constructor(options: HookCallerOptions) {
    this.#options = options;
  }

  readonly reconcile = async (key: Key, signal: AbortSignal): Promise<Outcome> => {
    const { caches, clock } = this.#options;
    const machine = caches.machines.store.get(key);
    const pending = machine ? this.#pendingOf(machine) : [];
    if (!machine || pending.length === 0) {
      this.#attempts.delete(key);
      return done;
    }
    const attempts = this.#attempts.get(key) ?? new Map<string, Attempt>();
    this.#attempts.set(key, attempts);
    const id = (each: PendingHook): string => `${machine.metadata.uid}/${hookKey(each.hook)}`;
    const known = new Set(pending.map(id));
    for (const old of [...attempts.keys()].filter((each) => !known.has(each))) attempts.delete(old);
    for (const each of pending) {
      const attempt = attempts.get(id(each));
      if (attempt && attempt.nextAt > clock.now()) continue;
      const next = await this.#call(machine, each, attempt, signal);
      if (next) attempts.set(id(each), next);
      // The removal of the annotation changes the Machine, and this change starts the next reconcile.
      else return done;
    }
    const waits = [...attempts.values()].map(({ nextAt }) =>
      again(Math.max(nextAt.getTime() - clock.now().getTime(), 0)),
    );
    return soonest(...waits);
  };

  #pendingOf(machine: Machine): readonly PendingHook[] {
    const { webhook, classOf, clock, interruptions } = this.#options;
    if (ignoresHooks(machine, interruptions)) return [];
    const stages = STAGES[machine.metadata.deletionTimestamp === undefined ? 'living' : 'dying'];
    return pendingHooksOf(machine, classOf(machine), clock.now()).filter(
      ({ hook }) => hook.owner === webhook.name && stages.includes(hook.stage),
    );
  }

  /** Calls the webhook for one hook, and returns undefined if the hook has finished. */
  async #call(
    machine: Machine,
    pending: PendingHook,
    attempt: Attempt | undefined,
    signal: AbortSignal,
  ): Promise<Attempt | undefined> {
    const { webhook, transport, fence, clock, random, observe } = this.#options;
    await fence?.confirm();
    const keys = await this.#keys();
    const answer = await callHookWebhook(webhook, machine, pending, { transport, clock, signal, keys });
    observe(webhook.name, answer.is);
    const inMs = (ms: number): Date => new Date(clock.now().getTime() + ms);
    if (answer.is === 'finished') {
      await this.#finish(machine, pending, signal);
      return undefined;
    }
    if (answer.is === 'waits') {
      const afterMs = Math.min(Math.max(answer.retryAfterMs ?? POLL_MS, SHORTEST_POLL_MS), RETRY.maxMs);
      return { failures: 0, nextAt: inMs(afterMs) };
    }
    const failures = (attempt?.failures ?? 0) + 1;
    this.#report(machine, pending, answer.because, failures);
    return { failures, nextAt: inMs(backoffMs(RETRY, failures, random)) };
  }

  /** Reads the keys of the webhook, or returns the last valid keys. */
  async #keys(): Promise<readonly Uint8Array[]> {
    const { webhook, log } = this.#options;
    const { keys, problem } = await webhook.keys.read();
    if (problem !== undefined && problem !== this.#keyProblem)
      log.warn('Cannot read the keys of a webhook; mcm uses the last valid keys', { webhook: webhook.name, problem });
    this.#keyProblem = problem;
    return keys;
  }

  #report(machine: Machine, { hook }: PendingHook, because: string, failures: number): void {
    const { recorder, log, webhook } = this.#options;
    const fields = { machine: machine.metadata.name, webhook: webhook.name, stage: hook.stage, hook: hook.name };
    if (failures === 1) log.warn('Call of a webhook failed; retrying', { ...fields, error: because });
    const message = `Webhook of ${hook.owner} for ${hook.stage} hook ${hook.name} failed: ${because}. mcm retries`;
    recorder.event(machine, 'Warning', 'HookCallFailed', message);
  }

  /**
   * Removes the annotation of a hook. The request contains the observed resource version, so it cannot remove a newer
   * hook with an equal name.
   */
  async #finish(machine: Machine, { hook }: PendingHook, signal: AbortSignal): Promise<void> {
    const { control, caches, log } = this.#options;
    const { name, namespace, uid, resourceVersion } = machine.metadata;
    const body = { metadata: { uid, resourceVersion, annotations: { [hookKey(hook)]: null } } };
    const written = await ignoreNotFound(
      control.resource(machines, namespace).patch(name, { type: 'merge', body }, { signal }),
    );
    if (written) caches.machines.recordWrite(written);
    log.info('Webhook has finished its hook; the machine continues', {
      machine: name,
      stage: hook.stage,
      hook: hook.name,
    });
  }
}
