import type { Instance, InstanceState } from '../../machine/model.ts';
import { CloudError, notFound } from '../context/errors.ts';
import type { Faults } from '../context/faults.ts';
import { type CloudContext, makeId, TERMINATED_RETENTION_MS } from '../context/settings.ts';
import { machineType } from './machine-types.ts';
import { requireRoom } from './quotas.ts';
import type { CloudState } from './state.ts';
import { mergeTags } from './tags.ts';
import type { Volumes } from './volumes.ts';
import type { Waiters } from './waiters.ts';

export interface InstanceRequest {
  readonly name: string;
  readonly clientToken?: string | undefined;
  readonly zone: string;
  readonly machineType: string;
  readonly image: string;
  readonly tags: Readonly<Record<string, string>>;
  readonly userData: string;
  readonly volumes: readonly { readonly sizeGi: number; readonly tags?: Readonly<Record<string, string>> }[];
  readonly bootLatencyMs?: number | undefined;
}

/** The maximum size of a console output. The oldest lines are dropped, as in serial consoles. */
const CONSOLE_LIMIT = 64 * 1024;
const HISTORY_LIMIT = 4;
const ENDED: ReadonlySet<InstanceState> = new Set(['shutting-down', 'terminated']);
const MOVING: ReadonlySet<InstanceState> = new Set(['pending', 'stopping', 'shutting-down']);

/**
 * Returns the newest lines of the console output, without a partial first line. In a partial line, a filter could not
 * recognize a secret.
 */
const newest = (text: string): string =>
  text.length <= CONSOLE_LIMIT ? text : text.slice(-CONSOLE_LIMIT).replace(/^[^\n]*\n/, '');

/**
 * The instances of the cloud. Timers change the states of the instances. After a restart of the process, new timers
 * continue the changes.
 */
export class Instances {
  readonly #context: CloudContext;
  readonly #state: CloudState;
  readonly #volumes: Volumes;
  readonly #waiters: Waiters;
  readonly #faults: Faults;
  #closed = false;

  constructor(context: CloudContext, parts: { state: CloudState; volumes: Volumes; waiters: Waiters; faults: Faults }) {
    this.#context = context;
    this.#state = parts.state;
    this.#volumes = parts.volumes;
    this.#waiters = parts.waiters;
    this.#faults = parts.faults;
  }

  resume(): void {
    for (const instance of [...this.#state.instances.values()]) {
      if (instance.state === 'running') this.#boot(instance, true);
      if (MOVING.has(instance.state)) this.#arm(instance);
      if (instance.state === 'terminated') this.#scheduleForgetting(instance);
    }
  }

  close(): void {
    this.#closed = true;
  }

  /**
   * Creates an instance, or returns the existing instance with an equal client token.
   * @throws {CloudError} InvalidParameter, QuotaExceeded, InsufficientCapacity
   */
  create(request: InstanceRequest): { readonly instance: Instance; readonly created: boolean } {
    const known = request.clientToken === undefined ? undefined : this.#state.clientTokens.get(request.clientToken);
    const existing = known === undefined ? undefined : this.#state.instances.get(known);
    if (existing) return { instance: existing, created: false };
    const { zones } = this.#context;
    if (!zones.includes(request.zone))
      throw new CloudError(
        'InvalidParameter',
        `zone: ${JSON.stringify(request.zone)} is not one of ${zones.join(', ')}.`,
      );
    const type = machineType(request.machineType);
    requireRoom(this.#state, { zone: request.zone, cpus: type.cpus, volumes: request.volumes.length });
    const instance = this.#draft(request);
    this.#state.atomically(() => {
      this.#state.saveInstance(instance);
      for (const volume of request.volumes) this.#volumes.createAttached(instance, volume);
    });
    this.#arm(instance);
    return { instance, created: true };
  }

  #draft(request: InstanceRequest): Instance {
    const now = this.#context.clock.now();
    const bootLatencyMs = request.bootLatencyMs ?? this.#context.latencies.bootMs;
    return {
      id: makeId('i', this.#context.random),
      name: request.name,
      clientToken: request.clientToken,
      zone: request.zone,
      machineType: request.machineType,
      image: request.image,
      privateIp: this.#state.nextAddress(),
      createdAt: now.toISOString(),
      bootLatencyMs,
      userData: request.userData,
      tags: { ...request.tags },
      state: 'pending',
      settlesAt: new Date(now.getTime() + bootLatencyMs).toISOString(),
      history: [],
      console: '',
    };
  }

  /** @throws {CloudError} NotFound */
  get(id: string): Instance {
    const instance = this.#state.instances.get(id);
    if (!instance) throw notFound('instance', id);
    return instance;
  }

  list(): Iterable<Instance> {
    return this.#state.instances.values();
  }

  /** Terminates an instance. A second termination has no effect. */
  terminate(id: string, reason?: string): Instance {
    const instance = this.get(id);
    if (instance.state === 'shutting-down' || instance.state === 'terminated') return instance;
    const now = this.#context.clock.now();
    if (reason !== undefined) instance.stateReason = reason;
    instance.settlesAt = new Date(now.getTime() + this.#context.latencies.shutdownMs).toISOString();
    this.#enter(instance, 'shutting-down');
    this.#arm(instance);
    return instance;
  }

  /**
   * Stops an instance, which keeps its disks and its address. A repeated stop has no effect.
   * @throws {CloudError} NotFound, IncorrectState
   */
  stop(id: string): Instance {
    const instance = this.get(id);
    if (instance.state === 'stopping' || instance.state === 'stopped') return instance;
    if (ENDED.has(instance.state)) throw notFound('instance', id);
    if (instance.state !== 'running')
      throw new CloudError('IncorrectState', `Instance ${id} is ${instance.state} and cannot be stopped.`);
    const now = this.#context.clock.now();
    instance.settlesAt = new Date(now.getTime() + this.#context.latencies.shutdownMs).toISOString();
    this.#enter(instance, 'stopping');
    this.#arm(instance);
    return instance;
  }

  /**
   * Starts a stopped instance. A second start has no effect.
   * @throws {CloudError} NotFound, IncorrectState, QuotaExceeded, InsufficientCapacity
   */
  start(id: string): Instance {
    const instance = this.get(id);
    if (instance.state === 'pending' || instance.state === 'running') return instance;
    if (ENDED.has(instance.state)) throw notFound('instance', id);
    if (instance.state !== 'stopped')
      throw new CloudError('IncorrectState', `Instance ${id} is ${instance.state} and cannot be started.`);
    requireRoom(this.#state, { zone: instance.zone, cpus: machineType(instance.machineType).cpus, volumes: 0 });
    instance.settlesAt = new Date(this.#context.clock.now().getTime() + instance.bootLatencyMs).toISOString();
    this.#enter(instance, 'pending');
    this.#arm(instance);
    return instance;
  }

  setTags(id: string, tags: Readonly<Record<string, string | null>>): Instance {
    const instance = this.get(id);
    instance.tags = mergeTags(instance.tags, tags);
    this.#state.saveInstance(instance);
    return instance;
  }

  /** Adds a line to the console output. */
  appendConsole(id: string, line: string): void {
    const instance = this.#state.instances.get(id);
    if (!instance) return;
    const time = this.#context.clock.now().toISOString();
    instance.console = newest(`${instance.console}[${time}] ${line}\n`);
  }

  #arm(instance: Instance): void {
    const { settlesAt } = instance;
    const delay = (): number => (Date.parse(settlesAt ?? '') || 0) - this.#context.clock.now().getTime();
    const look = (): void => {
      // If a later transition has started, this timer does nothing, because the later transition has its own timer.
      if (instance.settlesAt !== settlesAt) return;
      // A timer can fire too early because of rounding, or because the clock was set back.
      if (delay() > 0) this.#after(delay(), look);
      else this.#settle(instance);
    };
    this.#after(Math.max(0, delay()), look);
  }

  #settle(instance: Instance): void {
    if (this.#state.instances.get(instance.id) !== instance) return;
    if (instance.state === 'pending') this.#run(instance);
    else if (instance.state === 'shutting-down' || instance.state === 'stopping') this.#powerOff(instance);
  }

  #run(instance: Instance): void {
    this.#enter(instance, 'running');
    this.#boot(instance, false);
  }

  #boot(instance: Instance, resumed: boolean): void {
    const { name, zone, machineType: type } = instance;
    const orders = resumed ? [] : this.#faults.decide('instances.boot', { name, zone, machineType: type }).kubelet;
    const console = (line: string): void => this.appendConsole(instance.id, line);
    this.#context.host.boot(instance, machineType(type), { resumed, orders, console });
  }

  #powerOff(instance: Instance): void {
    delete instance.settlesAt;
    // After a stop, a late request of the kubelet could register the Node again.
    const from = instance.state;
    const off = (): void => {
      if (instance.state !== from) return;
      if (from === 'stopping') this.#stopped(instance);
      else this.#terminated(instance);
    };
    this.#context.host.halt(instance.id).then(off, (error: unknown) => {
      this.#context.log.error('A simulated instance did not stop cleanly', {
        instance: instance.id,
        error: String(error),
      });
      off();
    });
  }

  #stopped(instance: Instance): void {
    if (!this.#closed) this.#enter(instance, 'stopped');
  }

  #terminated(instance: Instance): void {
    if (this.#closed || instance.state === 'terminated') return;
    this.#state.atomically(() => {
      this.#volumes.release(instance.id);
      instance.terminatedAt = this.#context.clock.now().toISOString();
      instance.userData = '';
      this.#enter(instance, 'terminated');
    });
    this.#scheduleForgetting(instance);
  }

  #scheduleForgetting(instance: Instance): void {
    const ended = Date.parse(instance.terminatedAt ?? '') || 0;
    const delay = ended + TERMINATED_RETENTION_MS - this.#context.clock.now().getTime();
    this.#after(Math.max(0, delay), () => {
      this.#state.forgetInstance(instance);
      this.#context.host.forget(instance.id);
    });
  }

  #enter(instance: Instance, state: InstanceState): void {
    const until = this.#context.clock.now().toISOString();
    instance.history = [...instance.history, { state: instance.state, until }].slice(-HISTORY_LIMIT);
    instance.state = state;
    if (!MOVING.has(state)) delete instance.settlesAt;
    this.#state.saveInstance(instance);
    this.#waiters.notify(instance.id);
  }

  #after(ms: number, act: () => void): void {
    this.#context.clock.setTimeout(() => {
      if (!this.#closed) act();
    }, ms);
  }
}
