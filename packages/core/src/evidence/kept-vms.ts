import { createHash } from 'node:crypto';
import { type Machine, type MachineClass, parseTime } from '@mcm/api';
import {
  type ConfigMap,
  configMaps,
  errorText,
  ignoreNotFound,
  isAlreadyExists,
  type KubeClient,
  type Logger,
} from '@mcm/kube';
import { labelOf, ownerOf } from '../driver/contract/bundle.ts';
import { Lane } from '../flow/lane.ts';

/** Limits for the VMs of failed machines that mcm keeps after the deletion of the machines. */
export interface KeptVmOptions {
  readonly perClass: number;
  /** The time for which mcm keeps a VM, in milliseconds, starting when the VM would have been deleted. */
  readonly forMs: number;
}

export const KEPT_VM_DEFAULTS: KeptVmOptions = { perClass: 0, forMs: 24 * 3_600_000 };

/** The record of a VM that mcm keeps after the deletion of its machine. A kept VM without a record is an orphan. */
export interface KeptVm {
  readonly configMap: string;
  readonly uid: string;
  readonly machine: string;
  readonly providerID: string;
  /** An invalid time counts as expired. */
  readonly until: Date;
}

/**
 * Records of kept VMs have other labels than evidence. With the labels of evidence, mcm would delete the oldest records
 * as old evidence.
 */
const KeptVmLabels = {
  /** On a ConfigMap about a kept VM, the value is a hash of the class of the failed machine. */
  Class: 'kept-vm.machine.sapcloud.io/class',
  /** On a ConfigMap about a kept VM, the value is a hash of the name of the failed machine. */
  Machine: 'kept-vm.machine.sapcloud.io/machine',
} as const;

export interface KeptVmsOptions extends KeptVmOptions {
  readonly control: KubeClient;
  readonly namespace: string;
  readonly log: Logger;
  /**
   * False if mcm would never delete the kept VM, because the driver cannot list VMs, or because mcm only reports
   * orphans.
   */
  readonly collected: boolean;
  readonly wake: (machine: Machine) => void;
}

/**
 * mcm deletes the record of a kept VM when the VM no longer exists. Manages the records of kept VMs. The orphan
 * collection ignores a kept VM until its record expires, so a restart of mcm does not extend the time.
 */
export class KeptVms {
  readonly #o: KeptVmsOptions;
  /** mcm creates one record at a time, so that two machines cannot both use the last permitted record. */
  readonly #lane = new Lane(1);
  #running = 0;

  constructor(options: KeptVmsOptions) {
    this.#o = options;
  }

  get enabled(): boolean {
    return this.#o.perClass > 0 && this.#o.collected;
  }

  get running(): number {
    return this.#running;
  }

  /**
   * Creates the record of a kept VM, and passes the record to `settled`. If mcm cannot create the record, `settled`
   * gets undefined.
   */
  keep(machine: Machine, machineClass: MachineClass, now: Date, settled: (kept: KeptVm | undefined) => void): void {
    const { log, wake } = this.#o;
    this.#running++;
    void this.#lane
      .run(() => this.#keep(machine, machineClass, now))
      .catch((error: unknown): undefined => {
        log.warn('Cannot keep the VM of a failed machine', { machine: machine.metadata.name, error: errorText(error) });
      })
      .then((kept) => {
        this.#running--;
        settled(kept);
        wake(machine);
      });
  }

  async #keep(machine: Machine, machineClass: MachineClass, now: Date): Promise<KeptVm | undefined> {
    const { perClass, log } = this.#o;
    const client = this.#client();
    const draft = this.#draft(machine, machineClass, now);
    const { name } = draft.metadata;
    const made = await ignoreNotFound(client.get(name));
    if (made) return parse(made);
    const others = await this.list(machineClass.metadata.name);
    if (others.filter(({ until }) => until > now).length >= perClass) {
      log.info('VM of a failed machine not kept: the class has reached its limit of kept VMs', {
        machine: machine.metadata.name,
      });
      return undefined;
    }
    try {
      return parse(await client.create(draft));
    } catch (error) {
      if (!isAlreadyExists(error)) throw error;
      return parse(await client.get(name));
    }
  }

  #draft({ metadata, spec }: Machine, machineClass: MachineClass, now: Date) {
    const { providerID = '' } = spec;
    const hash = createHash('sha256').update(`${metadata.uid} ${providerID}`).digest('hex').slice(0, 10);
    const className = machineClass.metadata.name;
    return {
      metadata: {
        name: `kept-vm-${metadata.name.slice(0, 200)}-${hash}`,
        namespace: this.#o.namespace,
        labels: { [KeptVmLabels.Class]: labelOf(className), [KeptVmLabels.Machine]: labelOf(metadata.name) },
        ownerReferences: [ownerOf(machineClass)],
      },
      data: {
        machine: metadata.name,
        class: className,
        providerID,
        until: new Date(now.getTime() + this.#o.forMs).toISOString(),
      },
    };
  }

  async list(className: string): Promise<readonly KeptVm[]> {
    const { items } = await this.#client().list({ labelSelector: `${KeptVmLabels.Class}=${labelOf(className)}` });
    return items.map(parse);
  }

  async remove({ configMap, uid }: KeptVm): Promise<void> {
    await ignoreNotFound(this.#client().delete(configMap, { preconditions: { uid } }));
  }

  #client() {
    return this.#o.control.resource<ConfigMap>(configMaps, this.#o.namespace);
  }
}

/** Returns the records of kept VMs for a machine. */
export async function readKeptVms(client: KubeClient, namespace: string, machine: string): Promise<readonly KeptVm[]> {
  const labelSelector = `${KeptVmLabels.Machine}=${labelOf(machine)}`;
  const { items } = await client.resource<ConfigMap>(configMaps, namespace).list({ labelSelector });
  return items.map(parse).filter((kept) => kept.machine === machine);
}

function parse({ metadata, data = {} }: ConfigMap): KeptVm {
  const { machine = '', providerID = '', until } = data;
  return { configMap: metadata.name, uid: metadata.uid, machine, providerID, until: parseTime(until) ?? new Date(0) };
}
