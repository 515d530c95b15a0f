import { Annotations, isForceDeletion, Labels, type Machine, type MachineClass, parseDurationMs } from '@mcm/api';
import type { Reporter } from '@mcm/conformance/fleet';
import type { DriverDefinition, MachineDefaults, MachineRequest } from '@mcm/core';
import { MachineError } from '@mcm/core';
import type { Clock, Informer, Node, Pod } from '@mcm/kube';

export interface ListedVm {
  readonly providerId: string;
  readonly machineName: string;
}

const NEW_POD_MS = 1_000;
const EVICTION_MS = 20_000;

export interface VmRulesOptions {
  readonly clock: Clock;
  readonly reporter: Reporter;
  readonly machines: Informer<Machine>;
  readonly classes: readonly MachineClass[];
  readonly pods: Informer<Pod>;
  readonly nodes: Informer<Node>;
  readonly defaults: MachineDefaults;
  readonly list: () => Promise<readonly ListedVm[]>;
  readonly lagMs: () => number;
}

const isReady = ({ status }: Node): boolean =>
  status?.conditions?.some(({ type, status: value }) => type === 'Ready' && value === 'True') ?? false;

const MIRROR = 'kubernetes.io/config.mirror';
const stays = ({ metadata, status }: Pod): boolean =>
  ['Succeeded', 'Failed'].includes(status?.phase ?? '') ||
  metadata.annotations?.[MIRROR] !== undefined ||
  (metadata.ownerReferences?.some(({ kind, controller }) => kind === 'DaemonSet' && controller === true) ?? false);

type Method = (...given: readonly unknown[]) => unknown;

/**
 * Verifies the VMs of a simulated fleet:
 * - No machine has two VMs.
 * - A VM vanishes only while its machine is being deleted.
 * - mcm deletes a VM with running pods only after the time limits of the drain.
 */
export class VmRules {
  readonly #o: VmRulesOptions;
  readonly #zones = new Map<string, string>();
  #listed: ReadonlyMap<string, string> = new Map();
  readonly #ended = new Set<string>();
  readonly #reported = new Set<string>();
  readonly #lostZones = new Set<string>();
  #due = false;

  constructor(options: VmRulesOptions) {
    this.#o = options;
  }

  /** Records that the cloud may end the VM of a machine. */
  mayEnd(machine: Machine): void {
    if (machine.spec.providerID) this.#ended.add(machine.spec.providerID);
  }

  zoneOf(machine: Machine): string {
    return this.#zones.get(machine.metadata.uid) ?? '';
  }

  loseZone(zone: string): void {
    this.#lostZones.add(zone);
  }

  returnZone(zone: string): void {
    this.#lostZones.delete(zone);
  }

  /** Wraps the driver of a process. */
  wrap(driver: DriverDefinition<unknown, unknown>): DriverDefinition<unknown, unknown> {
    const create = (request: MachineRequest<unknown, unknown>): void => {
      const zone = driver.alternatives?.offering(request.spec).zone ?? '';
      this.#zones.set(request.machine.metadata.uid, zone);
      if (this.#lostZones.has(zone)) throw new MachineError('ResourceExhausted', `zone ${zone} is lost`);
    };
    const before: Readonly<Record<string, (request: MachineRequest<unknown, unknown>) => void>> = {
      create,
      delete: ({ machine }) => this.#verifyDrained(machine),
    };
    return new Proxy(driver, {
      get: (target, key) => {
        const value: unknown = Reflect.get(target, key);
        const look = before[String(key)];
        if (look === undefined || typeof value !== 'function') return value;
        return async (...given: readonly unknown[]): Promise<unknown> => {
          look(given[0] as MachineRequest<unknown, unknown>);
          try {
            return await (value as Method).apply(target, [...given]);
          } finally {
            this.#checkSoon();
          }
        };
      },
    });
  }

  #violate(text: string): void {
    if (this.#reported.has(text)) return;
    this.#reported.add(text);
    this.#o.reporter.violate(text);
  }

  #checkSoon(): void {
    if (this.#due) return;
    this.#due = true;
    this.#o.clock.setTimeout(() => {
      this.#due = false;
      void this.check().catch((error: unknown) => this.#violate(`the driver cannot list VMs: ${String(error)}`));
    }, 0);
  }

  /** Lists the VMs, and compares them with the machines. */
  async check(): Promise<readonly ListedVm[]> {
    const { machines, list } = this.#o;
    const vms = await list();
    const first = new Map<string, string>();
    for (const { machineName, providerId } of vms) {
      const other = first.get(machineName);
      if (other !== undefined && other !== providerId)
        this.#violate(`machine ${machineName} has two VMs: ${other} and ${providerId}`);
      first.set(machineName, providerId);
    }
    const now = new Map(vms.map(({ machineName, providerId }) => [providerId, machineName]));
    const living = new Set(
      machines.store.list().flatMap(({ metadata }) => (metadata.deletionTimestamp ? [] : [metadata.name])),
    );
    for (const [providerId, name] of this.#listed) {
      if (now.has(providerId) || this.#ended.has(providerId) || !living.has(name)) continue;
      const owner = machines.store.list().find(({ metadata }) => metadata.name === name);
      if (owner?.spec.providerID !== providerId) continue;
      this.#violate(`VM ${providerId} is lost, although machine ${name} is not being deleted`);
    }
    this.#listed = now;
    return vms;
  }

  /** Returns true if the pods of the machine's node may still run when mcm deletes the VM. */
  #mayForce(machine: Machine, node: Node): boolean {
    const { clock, defaults, classes } = this.#o;
    const { metadata, spec } = machine;
    const ofClass = classes.find((one) => one.metadata.name === spec.class.name)?.metadata.annotations ?? {};
    const annotations = { ...ofClass, ...metadata.annotations };
    if (annotations[Annotations.DrainRules] !== undefined) return true;
    if (annotations[Annotations.Interruption] !== undefined || isForceDeletion(machine) || !isReady(node)) return true;
    const deletedAt = Date.parse(metadata.deletionTimestamp ?? '');
    const drainMs = parseDurationMs(spec.drainTimeout ?? '') ?? defaults.drainTimeoutMs;
    const evictMs = EVICTION_MS * (spec.maxEvictRetries ?? defaults.maxEvictRetries);
    return clock.now().getTime() + NEW_POD_MS >= deletedAt + Math.min(drainMs, evictMs);
  }

  #verifyDrained(machine: Machine): void {
    const { nodes, pods, clock, lagMs } = this.#o;
    const { name, deletionTimestamp, labels } = machine.metadata;
    const nodeName = labels?.[Labels.Node] ?? '';
    const node = nodes.store.get(nodeName);
    if (!deletionTimestamp || !node || this.#mayForce(machine, node)) return;
    const since = clock.now().getTime() - NEW_POD_MS - lagMs();
    const left = pods.store
      .byIndex('node', nodeName)
      .filter((pod) => !stays(pod) && Date.parse(pod.metadata.creationTimestamp) < since);
    if (left.length > 0)
      this.#violate(
        `mcm deletes the VM of ${name} before the end of its drain, while the pods ${left.map((pod) => pod.metadata.name).join(', ')} still run`,
      );
  }
}
