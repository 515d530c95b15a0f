import type { Instance, Interruption, InterruptionKind } from '../../machine/model.ts';
import { notFound } from '../context/errors.ts';
import { type CloudContext, makeId } from '../context/settings.ts';
import type { Instances } from './instances.ts';
import type { CloudState } from './state.ts';
import type { Waiters } from './waiters.ts';

export interface InterruptionRequest {
  readonly kind: InterruptionKind;
  readonly noticeMs: number;
  readonly detail: string;
}

const KEY = 'interruptions';

const ENDS: ReadonlySet<InterruptionKind> = new Set(['Terminate', 'Ended']);

/** A queue of interruption notices. At the deadline of a notice, the cloud ends the instance. */
export class Interruptions {
  readonly #context: CloudContext;
  readonly #parts: { readonly state: CloudState; readonly instances: Instances; readonly waiters: Waiters };
  #closed = false;

  constructor(
    context: CloudContext,
    parts: { readonly state: CloudState; readonly instances: Instances; readonly waiters: Waiters },
  ) {
    this.#context = context;
    this.#parts = parts;
  }

  resume(): void {
    for (const instance of [...this.#parts.state.instances.values()]) this.#arm(instance);
  }

  close(): void {
    this.#closed = true;
  }

  /** @throws {CloudError} NotFound */
  announce(id: string, { kind, noticeMs, detail }: InterruptionRequest): Instance {
    const { instances, state, waiters } = this.#parts;
    const { clock, random } = this.#context;
    const instance = instances.get(id);
    const now = clock.now();
    instance.interruption = {
      id: makeId('int', random),
      kind,
      noticedAt: now.toISOString(),
      deadline: new Date(now.getTime() + noticeMs).toISOString(),
      detail,
      acknowledged: false,
    };
    state.saveInstance(instance);
    waiters.notify(KEY);
    this.#arm(instance);
    return instance;
  }

  /** Returns the instances with a notice that no client has acknowledged. */
  pending(matches: (instance: Instance) => boolean): readonly Instance[] {
    return [...this.#parts.state.instances.values()].filter(
      (instance) => instance.interruption?.acknowledged === false && matches(instance),
    );
  }

  /** @throws {CloudError} NotFound */
  acknowledge(id: string): void {
    const { state } = this.#parts;
    const instance = [...state.instances.values()].find(({ interruption }) => interruption?.id === id);
    if (!instance?.interruption) throw notFound('interruption', id);
    instance.interruption = { ...instance.interruption, acknowledged: true };
    state.saveInstance(instance);
  }

  /** Resolves when a notice is pending, or after the timeout. */
  async untilPending(
    matches: (instance: Instance) => boolean,
    { timeoutMs, signal }: { readonly timeoutMs: number; readonly signal: AbortSignal },
  ): Promise<void> {
    const reached = (): boolean => this.pending(matches).length > 0;
    await this.#parts.waiters.until(KEY, reached, { clock: this.#context.clock, timeoutMs, signal });
  }

  #arm(instance: Instance): void {
    const { interruption } = instance;
    if (!interruption || !ENDS.has(interruption.kind)) return;
    const { clock } = this.#context;
    const left = Date.parse(interruption.deadline) - clock.now().getTime();
    clock.setTimeout(() => this.#end(instance, interruption), Math.max(left, 0));
  }

  /** Terminates the instance at the deadline. */
  #end({ id }: Instance, interruption: Interruption): void {
    const instance = this.#parts.state.instances.get(id);
    if (this.#closed || instance?.interruption?.id !== interruption.id) return;
    this.#parts.instances.terminate(id, interruption.detail);
  }
}
