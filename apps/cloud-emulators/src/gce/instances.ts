import type { Clock } from '@mcm/kube';
import { bootText } from '@mcm/provider-local';
import { noPower, type Power } from '../machines/power.ts';
import { type InterruptionOrder, nodeNotice } from '../server/emulator.ts';
import { type EmulatorStore, Kept } from '../server/kept.ts';
import { diskNameOf } from './answers.ts';
import type { GceDisk, GceInstance, GceOperation, InsertedBody } from './model.ts';

export interface InstancesOptions {
  readonly clock: Clock;
  readonly visibleAfterMs?: number;
  readonly power?: Power;
  readonly store?: EmulatorStore;
}

/** Stores instances with their disks, and the operations that create and delete them. */
export class Instances {
  readonly instances: Kept<GceInstance>;
  readonly disks: Kept<GceDisk>;
  readonly #operations: Kept<GceOperation>;
  readonly #options: InstancesOptions;
  readonly #power: Power;
  /** Deleted instances that list responses still contain, each with the time at which it disappears. */
  readonly #ghosts: { readonly instance: GceInstance; readonly until: number }[] = [];
  #number = 0;

  constructor(options: InstancesOptions) {
    this.#options = options;
    this.instances = new Kept('gce-instance', options.store);
    this.disks = new Kept('gce-disk', options.store);
    this.#operations = new Kept('gce-operation', options.store);
    this.#power = options.power ?? noPower;
    const numbers = [...this.#operations.values(), ...this.instances.values()].map(({ name }) =>
      Number(/-(\d+)$/.exec(name)?.[1] ?? 0),
    );
    this.#number = Math.max(0, this.instances.size, ...numbers);
  }

  add(project: string, zone: string, body: InsertedBody): GceInstance {
    const number = ++this.#number;
    const made: GceInstance = {
      // An instance ID has 64 bits, which is too large for a number in JavaScript.
      id: String(7_000_000_000_000_000_000n + BigInt(number)),
      name: body.name,
      project,
      zone,
      body,
      creationTimestamp: new Date(this.now()).toISOString(),
      privateIp: `10.182.${Math.floor(number / 250) % 250}.${(number % 250) + 2}`,
      status: 'PROVISIONING',
    };
    this.keep(made);
    for (const [index, disk] of (body.disks ?? []).entries()) {
      const name = diskNameOf(body.name, disk, index);
      const { autoDelete = false } = disk;
      this.disks.put(keyOf(project, zone, name), { name, project, zone, autoDelete, instance: body.name });
    }
    return made;
  }

  /** Returns the instances that a list response contains. */
  listed(): readonly GceInstance[] {
    const now = this.now();
    const { visibleAfterMs: lag = 0 } = this.#options;
    const shown = this.instances
      .values()
      .filter(({ listedFrom, creationTimestamp }) => (listedFrom ?? Date.parse(creationTimestamp) + lag) <= now);
    const ghosts = this.#ghosts.filter(({ until }) => until > now).map(({ instance }) => instance);
    return [...shown, ...ghosts].toSorted((a, b) => (BigInt(a.id) < BigInt(b.id) ? -1 : 1));
  }

  keep(instance: GceInstance): void {
    this.instances.put(keyOf(instance.project, instance.zone, instance.name), instance);
  }

  get(project: string, zone: string, name: string): GceInstance | undefined {
    return this.instances.get(keyOf(project, zone, name));
  }

  operation(name: string): GceOperation | undefined {
    return this.#operations.get(name);
  }

  operationOf(requestId: string | undefined): GceOperation | undefined {
    return requestId === undefined ? undefined : this.#operations.values().find((each) => each.requestId === requestId);
  }

  begin(
    operation: Omit<GceOperation, 'name' | 'number' | 'targetId' | 'beganAt' | 'done' | 'doneAt'>,
    ms: number,
  ): GceOperation {
    const { project, zone, instance } = operation;
    const number = ++this.#number;
    const beganAt = this.now();
    const targetId = this.get(project, zone, instance)?.id ?? '0';
    const made = {
      ...operation,
      name: `operation-${number}`,
      number,
      targetId,
      beganAt,
      doneAt: beganAt + ms,
      done: false,
    };
    this.#operations.put(made.name, made);
    this.#options.clock.setTimeout(() => this.settle(), ms);
    return made;
  }

  /** Applies all changes of instances that are due at the current time. */
  settle(): void {
    const now = this.now();
    for (const each of this.#operations.values()) {
      if (each.done && each.doneAt + REMEMBERED_MS < now) this.#operations.delete(each.name);
      if (each.done || each.doneAt > now) continue;
      this.#operations.put(each.name, { ...each, done: true });
      this.#finish(each);
    }
  }

  resume(): void {
    this.settle();
    for (const each of this.instances.values()) if (each.status === 'RUNNING') this.#boot(each, true);
    for (const { done, doneAt } of this.#operations.values())
      if (!done) this.#options.clock.setTimeout(() => this.settle(), Math.max(doneAt - this.now(), 0));
  }

  now(): number {
    return this.#options.clock.now().getTime();
  }

  #finish({ operationType, project, zone, instance: name, errors, leave, visibleAfterMs }: GceOperation): void {
    const instance = this.get(project, zone, name);
    if (!instance) return;
    if (operationType === 'delete') {
      if (errors) this.keep({ ...instance, status: 'RUNNING' });
      else this.#remove(instance, visibleAfterMs);
    } else if (operationType === 'setLabels') return;
    else if (operationType !== 'insert') this.#endPower(instance, operationType, errors !== undefined);
    else if (errors && leave !== true) this.#remove(instance);
    else if (instance.status === 'PROVISIONING') {
      const running = { ...instance, status: 'RUNNING' };
      this.keep(running);
      this.#boot(running, false);
    }
  }

  /** Starts to change the power state of an instance. */
  changePower(changed: GceInstance): void {
    if (changed.status !== 'STAGING') this.#power.halt?.(changed.id);
    this.keep(changed);
  }

  /** Ends a change of the power state of an instance. */
  #endPower(instance: GceInstance, type: 'stop' | 'start' | 'suspend', failed: boolean): void {
    if (!['STAGING', 'STOPPING', 'SUSPENDING'].includes(instance.status)) return;
    if (type !== 'start') {
      this.keep({ ...instance, status: type === 'stop' ? 'TERMINATED' : 'SUSPENDED' });
      return;
    }
    const status = failed ? 'TERMINATED' : 'RUNNING';
    this.keep({ ...instance, status });
    if (!failed) this.#boot(instance, false);
  }

  /** Makes the metadata service of a VM report an interruption. A preempted VM is stopped at the deadline. */
  interrupt(name: string, order: InterruptionOrder): boolean {
    const vm = this.instances.values().find((each) => each.name === name && each.status === 'RUNNING');
    if (!vm) return false;
    const notice = nodeNotice('gce', order, this.now());
    if (notice === undefined) return true;
    this.#power.notice?.(vm.id, notice);
    if (order.kind === 'Maintenance') return true;
    this.#options.clock.setTimeout(() => {
      const now = this.get(vm.project, vm.zone, vm.name);
      if (now?.id !== vm.id || now.status !== 'RUNNING') return;
      this.#power.off(vm.id);
      this.keep({ ...now, status: 'TERMINATED' });
    }, order.noticeMs);
    return true;
  }

  #remove(gone: GceInstance, lag = 0): void {
    const { project, zone, name, id } = gone;
    this.#power.off(id);
    this.#ghosts.splice(0, this.#ghosts.length, ...this.#ghosts.filter(({ until }) => until > this.now()));
    if (lag > 0) this.#ghosts.push({ instance: gone, until: this.now() + lag });
    this.instances.delete(keyOf(project, zone, name));
    for (const { instance, ...disk } of this.disks.values()) {
      if (instance !== name || disk.zone !== zone || disk.project !== project) continue;
      const key = keyOf(project, zone, disk.name);
      if (disk.autoDelete) this.disks.delete(key);
      else this.disks.put(key, disk);
    }
  }

  #boot({ id, name, project, zone, body, privateIp, creationTimestamp }: GceInstance, resumed: boolean): void {
    const item = (key: string): string | undefined => body.metadata?.items?.find((each) => each.key === key)?.value;
    const text = item('user-data') ?? item('startup-script') ?? '';
    const isEncoded = item('user-data-encoding') === 'base64';
    this.#power.on(
      {
        id,
        zone,
        privateIp,
        hostname: name,
        providerId: `gce://${project}/${zone}/${name}`,
        machineType: body.machineType?.split('/').at(-1) ?? '',
        image: body.disks?.find(({ boot }) => boot)?.initializeParams?.sourceImage ?? '',
        userData: isEncoded ? bootText(Buffer.from(text, 'base64')) : text,
        createdAt: creationTimestamp,
      },
      resumed,
    );
  }
}

const keyOf = (project: string, zone: string, name: string): string => `${project}/${zone}/${name}`;

const REMEMBERED_MS = 3_600_000;
