import { Annotations, type Machine, type MachineClass } from '@mcm/api';
import {
  createInvoker,
  DRIVER_TIMEOUTS,
  type DriverDefinition,
  type DriverInvoker,
  type DriverTimeouts,
  type Instance,
  MachineError,
} from '@mcm/core';
import { createMemoryLogger, defined, type MemoryLogger, type Random, type Secret, sleep } from '@mcm/kube';
import { Failure } from './outcome.ts';
import type { ConformanceTarget, World } from './target.ts';
import { type SeenRequest, Wire } from './wire.ts';

export interface Process {
  readonly wire: Wire;
  readonly invoker: DriverInvoker;
  readonly driver: DriverDefinition<unknown, unknown>;
  /** The errors of the driver, before the controller removes secrets from them. */
  readonly rawErrors: readonly string[];
  /** Aborts all calls of the process, as the end of a real process does. */
  readonly stop: AbortController;
}

export type Ended<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly error: MachineError };

/** An entry of the driver's list. */
export interface Listed {
  readonly providerId: string;
  readonly machineName: string;
}

const SOON: readonly string[] = ['Unknown', 'DeadlineExceeded', 'Aborted', 'Unavailable', 'Canceled'];
export const isSoon = ({ code }: MachineError): boolean => SOON.includes(code);

const NAMESPACE = 'conformance';
const LONGEST_MS = 3_600_000;
const TRIES = 6;
const PATIENCE_MS = 600_000;

/** Intervals and limits of a stage. With a virtual clock, the times are longer, because virtual time passes at once. */
export interface Pace {
  readonly pauseMs: number;
  readonly lookMs: number;
  /** If `settleMs` is undefined, the kit waits for twice the longest creation of the scenario. */
  readonly settleMs: number | undefined;
  /** The longest wait until a list contains a change, because some clouds update lists late. */
  readonly lateMs: number;
  readonly retryAfterS: number;
  /**
   * The limit for an aborted call is shorter than 30 seconds, because the controller waits at most 30 seconds for an
   * aborted call.
   */
  readonly endWithinMs: number;
  readonly timeouts: DriverTimeouts;
}

const BY_HAND: Pace = {
  pauseMs: 60_000,
  lookMs: 1_000,
  settleMs: 600_000,
  lateMs: 0,
  retryAfterS: 30,
  endWithinMs: 1_000,
  timeouts: DRIVER_TIMEOUTS,
};
const IN_REAL_TIME: Pace = {
  pauseMs: 1_000,
  lookMs: 100,
  settleMs: undefined,
  lateMs: 20_000,
  retryAfterS: 2,
  endWithinMs: 20_000,
  timeouts: { ...DRIVER_TIMEOUTS, create: 5_000 },
};

/** The environment of a scenario: a cloud, processes and machines. */
export class Stage {
  readonly target: ConformanceTarget;
  readonly world: World;
  readonly log: MemoryLogger = createMemoryLogger();
  readonly #random: Random;
  readonly #machines: { readonly machine: Machine; readonly spec: Readonly<Record<string, unknown>> | undefined }[] =
    [];
  readonly #stops: AbortController[] = [];
  #longestCreationMs = 0;

  constructor(target: ConformanceTarget, world: World, random: Random) {
    this.target = target;
    this.world = world;
    this.#random = random;
  }

  get pace(): Pace {
    return this.world.runUntil ? BY_HAND : IN_REAL_TIME;
  }

  process(
    change: {
      readonly spec?: Readonly<Record<string, unknown>>;
      readonly secret?: Readonly<Record<string, string | Uint8Array>>;
      readonly timeouts?: DriverTimeouts;
      readonly owner?: string;
      readonly alternatives?: readonly object[];
    } = {},
  ): Process {
    const { target, world, log } = this;
    const wire = new Wire(world.connect);
    const stop = new AbortController();
    this.#stops.push(stop);
    const rawErrors: string[] = [];
    const context = { clock: world.clock, random: this.#random, connect: wire.connect };
    const driver = withErrors(target.createDriver(context), (text) => rawErrors.push(text));
    const machineClass = change.alternatives ? this.classWith(change.alternatives) : classOf(target, change.spec);
    const secret = secretOf({ ...(change.secret ?? target.secret) });
    const invoker = createInvoker({
      driver,
      caches: { classes: { store: { get: () => machineClass } }, secrets: { store: { get: () => secret } } },
      clock: world.clock,
      log,
      stop: stop.signal,
      timeouts: change.timeouts,
      owner: change.owner === undefined ? undefined : () => change.owner,
    });
    return { wire, invoker, driver, rawErrors, stop };
  }

  get machineClass(): MachineClass {
    return classOf(this.target, undefined);
  }

  classWith(alternatives: readonly object[]): MachineClass {
    const { metadata, ...machineClass } = this.machineClass;
    const annotations = { [Annotations.CapacityAlternatives]: JSON.stringify(alternatives) };
    return { ...machineClass, metadata: { ...metadata, annotations } };
  }

  machine(name = 'machine', spec?: Readonly<Record<string, unknown>>): Machine {
    const uid = this.#uid();
    const machine: Machine = {
      apiVersion: 'machine.sapcloud.io/v1alpha1',
      kind: 'Machine',
      metadata: { ...meta(`${name}-${this.#hex(5)}`), uid },
      spec: { class: { kind: 'MachineClass', name: 'class' } },
    };
    this.#machines.push({ machine, spec });
    return machine;
  }

  /**
   * Returns a Machine with the name of the given Machine and a new UID, as if a user had created a deleted Machine
   * again.
   */
  again(machine: Machine): Machine {
    const { name } = machine.metadata;
    const other = { ...machine, metadata: { ...machine.metadata, name, uid: this.#uid() } };
    this.#machines.push({ machine: other, spec: undefined });
    return other;
  }

  #uid(): string {
    return [8, 4, 4, 4, 12].map((length) => this.#hex(length)).join('-');
  }

  /** Returns a Machine with a new UID for an orphaned VM, as the orphan collection of the controller does. */
  madeUp(machineName: string, providerID: string): Machine {
    return {
      apiVersion: 'machine.sapcloud.io/v1alpha1',
      kind: 'Machine',
      metadata: { ...meta(machineName), uid: `orphan-${providerID}`, resourceVersion: '' },
      spec: { class: { kind: 'MachineClass', name: 'class' }, providerID },
    };
  }

  #hex(length: number): string {
    return Array.from({ length }, () => Math.floor(this.#random.next() * 16).toString(16)).join('');
  }

  async create(process: Process, machine: Machine) {
    const since = this.world.clock.monotonic();
    const made = await process.invoker.create(machine, async (userData) => userData);
    this.#longestCreationMs = Math.max(this.#longestCreationMs, this.world.clock.monotonic() - since);
    return made;
  }

  /**
   * Waits until the cloud has completed all accepted operations, because the VM of an accepted create request may
   * appear late.
   */
  settle(): Promise<void> {
    return this.pass(this.pace.settleMs ?? 2 * this.#longestCreationMs);
  }

  /** Gets the VM of a machine without a provider ID, as the controller does. */
  async obtain(process: Process, machine: Machine): Promise<Instance> {
    if (!process.invoker.can.status) return this.create(process, machine);
    try {
      const found = await process.invoker.status(machine);
      if (found.ending !== undefined) throw new MachineError('Aborted', `the VM is ${found.ending}`);
      return found;
    } catch (thrown) {
      const error = MachineError.from(thrown);
      const [one] = error.code === 'Uninitialized' ? error.found : [];
      if (one) return one;
      if (error.code !== 'NotFound' && error.code !== 'Unimplemented' && error.code !== 'Uninitialized') throw error;
      return this.create(process, machine);
    }
  }

  /** Deletes the VM of a machine. If there is no VM, the deletion succeeds. */
  async delete(process: Process, machine: Machine): Promise<void> {
    await process.invoker.delete(machine).catch((thrown: unknown) => {
      if (!(thrown instanceof MachineError && thrown.code === 'NotFound')) throw thrown;
    });
  }

  /**
   * Waits for the end of a driver call.
   * @throws Failure if the call takes more than an hour of the clock
   */
  async end<T>(call: Promise<T>, maxMs = LONGEST_MS): Promise<Ended<T>> {
    let ended: Ended<T> | undefined;
    const watched = call.then(
      (value) => {
        ended = { ok: true, value };
      },
      (thrown: unknown) => {
        ended = { ok: false, error: MachineError.from(thrown) };
      },
    );
    const { runUntil } = this.world;
    if (runUntil) {
      await runUntil(() => ended !== undefined, { maxMs }).catch((thrown: unknown) => {
        throw new Failure(`a call took longer than ${maxMs / 1_000} s (${MachineError.from(thrown).message})`);
      });
    }
    await watched;
    if (!ended) throw new Failure('a driver call did not end');
    return ended;
  }

  /**
   * Returns the result of a driver call that must succeed.
   * @throws Failure that names the call, if the call fails
   */
  async must<T>(callName: string, call: Promise<T>): Promise<T> {
    const ended = await this.end(call);
    if (ended.ok) return ended.value;
    throw new Failure(`${callName} failed with ${ended.error.code}: ${ended.error.message}`);
  }

  /** Repeats a driver call as the controller does, until the call succeeds. */
  async retry<T>(
    callName: string,
    call: () => Promise<T>,
    onError: (error: MachineError) => void = () => undefined,
  ): Promise<T> {
    for (let tries = 1; ; tries++) {
      const ended = await this.end(call());
      if (ended.ok) return ended.value;
      onError(ended.error);
      if (tries === TRIES)
        throw new Failure(
          `${callName} failed ${TRIES} times, most recently with ${ended.error.code}: ${ended.error.message}`,
        );
      await this.pass(Math.max(this.pace.pauseMs, ended.error.retryAfterMs ?? 0));
    }
  }

  /** Waits at most ten minutes until a condition is true. */
  async passUntil(done: () => boolean): Promise<boolean> {
    const { clock } = this.world;
    const until = clock.monotonic() + PATIENCE_MS;
    while (clock.monotonic() < until && !done()) await this.pass(this.pace.lookMs);
    return done();
  }

  /** Advances a virtual clock, or waits if the clock is real. */
  async pass(ms: number): Promise<void> {
    const { runUntil, clock } = this.world;
    if (!runUntil) return sleep(clock, ms);
    let over = false;
    clock.setTimeout(() => {
      over = true;
    }, ms);
    await runUntil(() => over, { maxMs: ms + 1 });
  }

  /** Returns the resources of the cluster. */
  async inventory(): Promise<readonly string[]> {
    const { world, target } = this;
    if (world.inventory) return world.inventory();
    if (target.inventory) {
      const { clock, connect } = world;
      const { secret, machineClass } = target;
      const { providerSpec } = machineClass;
      return target.inventory({ clock, connect, random: this.#random, secret, providerSpec });
    }
    const { invoker } = this.process();
    return (await this.must('list', invoker.list(this.machineClass))).map(({ providerId }) => providerId);
  }

  async listed(process: Process = this.process()): Promise<readonly Listed[]> {
    return this.must('list', process.invoker.list(this.machineClass));
  }

  /** Lists VMs after the cloud has completed all operations. */
  async listedLate(isExpected: (listed: readonly Listed[]) => boolean, process?: Process): Promise<readonly Listed[]> {
    await this.settle();
    const { clock } = this.world;
    const until = clock.monotonic() + this.pace.lateMs;
    for (;;) {
      const listed = await this.listed(process);
      if (isExpected(listed) || clock.monotonic() >= until) return listed;
      await this.pass(this.pace.lookMs);
    }
  }

  /** Lists the VMs of one machine like {@link listedLate}, and expects exactly one VM. */
  async listedOne({ metadata: { name } }: Machine): Promise<readonly Listed[]> {
    const isOwn = ({ machineName }: Listed): boolean => machineName === name;
    return (await this.listedLate((listed) => listed.filter(isOwn).length === 1)).filter(isOwn);
  }

  isWrite({ method, path, body }: SeenRequest): boolean {
    return new RegExp(this.target.dialect.writes ?? '^(POST|PUT|PATCH|DELETE) ').test(`${method} ${path}\n${body}`);
  }

  /** Deletes the resources of the scenario, and closes the cloud. */
  async close(): Promise<void> {
    for (const stop of this.#stops) stop.abort(new Error('the conformance scenario has ended'));
    const usual = this.process();
    for (const { machine, spec } of this.#machines) {
      const { invoker } = spec ? this.process({ spec }) : usual;
      const ended = await this.end(invoker.delete(machine));
      if (!ended.ok && ended.error.code !== 'NotFound')
        this.log.warn('Cannot delete a machine of the scenario', { machine: machine.metadata.name });
    }
    await this.world.close?.();
  }
}

/** Wraps a driver, and reports the text of each error that one of its methods throws. */
const withErrors = (
  driver: DriverDefinition<unknown, unknown>,
  onError: (text: string) => void,
): DriverDefinition<unknown, unknown> =>
  new Proxy(driver, {
    get: (target, key) => {
      const value: unknown = Reflect.get(target, key);
      if (typeof value !== 'function') return value;
      return (...given: readonly unknown[]): unknown => {
        const result: unknown = Reflect.apply(value, target, given);
        if (!(result instanceof Promise)) return result;
        return result.catch((thrown: unknown) => {
          onError(MachineError.from(thrown).message);
          throw thrown;
        });
      };
    },
  });

const meta = (name: string) => ({
  name,
  namespace: NAMESPACE,
  uid: name,
  resourceVersion: '1',
  creationTimestamp: '2026-01-01T00:00:00Z',
});

const classOf = (target: ConformanceTarget, spec: Readonly<Record<string, unknown>> | undefined): MachineClass =>
  defined({
    apiVersion: 'machine.sapcloud.io/v1alpha1',
    kind: 'MachineClass',
    metadata: meta('class'),
    provider: target.machineClass.provider,
    providerSpec: spec ?? target.machineClass.providerSpec,
    secretRef: { name: 'secret', namespace: NAMESPACE },
  });

const secretOf = (data: Readonly<Record<string, string | Uint8Array>>): Secret => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: meta('secret'),
  data: Object.fromEntries(Object.entries(data).map(([key, value]) => [key, Buffer.from(value).toString('base64')])),
});
