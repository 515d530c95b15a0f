import { createHash } from 'node:crypto';
import type { Clock, TransportResponse } from '@mcm/kube';
import { withoutUndefined } from '@mcm/kube';
import { bootText } from '@mcm/provider-local';
import type { OperationFault } from '../faults/faults.ts';
import { noPower, type Power } from '../machines/power.ts';
import { jsonAnswer as answer } from '../server/answer.ts';
import { type InterruptionOrder, nodeNotice } from '../server/emulator.ts';
import { type EmulatorStore, Kept } from '../server/kept.ts';
import { reported } from './answers.ts';
import {
  type ArmOperation,
  type ArmResource,
  diskIdBeside,
  keyOf,
  merge,
  type Reference,
  type ResourceBody,
  type ResourceKind,
  resourceBody,
  tagsPatch,
} from './model.ts';

export interface ResourcesOptions {
  readonly clock: Clock;
  readonly operationMs?: number;
  readonly graphLagMs?: number;
  readonly origin?: string;
  readonly power?: Power;
  readonly store?: EmulatorStore;
}

export interface Place {
  readonly id: string;
  readonly group: string;
  readonly name: string;
  readonly kind: ResourceKind;
}

const refusal = (status: number, code: string, message: string): TransportResponse =>
  answer(status, { error: { code, message } });

/** Stores VMs, NICs and disks, and the operations that create and delete them. */
export class Resources {
  readonly #options: ResourcesOptions;
  readonly #all: Kept<ArmResource>;
  readonly #operations: Kept<ArmOperation>;
  readonly #power: Power;
  /** Deleted resources that Resource Graph still shows, each with the time at which it disappears. */
  readonly #ghosts: { readonly resource: ArmResource; readonly until: number }[] = [];
  #number = 0;

  constructor(options: ResourcesOptions) {
    this.#options = options;
    this.#all = new Kept('arm-resource', options.store);
    this.#operations = new Kept('arm-operation', options.store);
    this.#power = options.power ?? noPower;
    this.#number = Math.max(0, ...this.#operations.values().map(({ number }) => Number(number)));
  }

  all(): readonly ArmResource[] {
    this.#settle();
    return this.#all.values();
  }

  get(id: string): ArmResource | undefined {
    this.#settle();
    return this.#all.get(keyOf(id));
  }

  operation(number: string): ArmOperation | undefined {
    this.#settle();
    return this.#operations.get(number);
  }

  /** Returns the resources that Resource Graph shows. */
  seenByGraph(): readonly ArmResource[] {
    const { graphLagMs = 0 } = this.#options;
    const now = this.#now();
    const ghosts = this.#ghosts.filter(({ until }) => until > now).map(({ resource }) => resource);
    const shown = this.all().filter(({ graphFrom, createdAt }) => (graphFrom ?? createdAt + graphLagMs) <= now);
    return [...shown, ...ghosts];
  }

  put(place: Place, text: string, fault: OperationFault): TransportResponse {
    const parsed = resourceBody.safeParse(JSON.parse(text));
    if (!parsed.success) return refusal(400, 'InvalidRequestContent', parsed.error.message);
    const known = this.get(place.id);
    if (known?.state === 'Deleting') return refusal(409, 'ResourceBeingDeleted', `${place.name} is being deleted.`);
    const body = parsed.data;
    const missing = place.kind === 'virtualMachines' ? this.#missing(place, body) : undefined;
    if (missing) return missing;
    const made = known ?? this.#make(place, body, fault.visibleAfterMs);
    made.body = known ? resourceBody.parse(merge(known.body, body)) : body;
    made.state = known ? 'Updating' : 'Creating';
    this.#keep(made);
    if (place.kind === 'virtualMachines' && !known) this.#attach(made, fault.visibleAfterMs);
    return this.#begin(known ? 200 : 201, made, 'put', fault);
  }

  patch(place: Place, text: string, fault: OperationFault): TransportResponse {
    const known = this.get(place.id);
    if (!known) return refusal(404, 'ResourceNotFound', `The Resource '${place.name}' was not found.`);
    if (known.state === 'Deleting') return refusal(409, 'ResourceBeingDeleted', `${place.name} is being deleted.`);
    known.body = resourceBody.parse(merge(known.body, JSON.parse(text)));
    known.state = 'Updating';
    this.#keep(known);
    return this.#begin(200, known, 'put', fault);
  }

  /** Merges the tags of the request into a resource, or removes tags whose key and value are in the request. */
  changeTags(id: string, text: string): TransportResponse {
    const known = this.get(id);
    if (!known) return refusal(404, 'ResourceNotFound', `The Resource '${id}' was not found.`);
    if (known.state === 'Deleting') return refusal(409, 'ResourceBeingDeleted', `${known.name} is being deleted.`);
    const parsed = tagsPatch.safeParse(JSON.parse(text));
    if (!parsed.success) return refusal(400, 'InvalidRequestContent', parsed.error.message);
    const { operation, properties } = parsed.data;
    const { tags: old = {} } = known.body;
    const left = Object.entries(old).filter(([key, value]) => properties.tags[key] !== value);
    const tags = operation === 'Merge' ? { ...old, ...properties.tags } : Object.fromEntries(left);
    known.body = { ...known.body, tags };
    this.#keep(known);
    return answer(200, {
      id: `${id}/providers/Microsoft.Resources/tags/default`,
      name: 'default',
      properties: { tags },
    });
  }

  delete(place: Place, fault: OperationFault): TransportResponse {
    const known = this.get(place.id);
    if (!known) return answer(204);
    if (known.kind !== 'virtualMachines' && known.attachedTo !== undefined)
      return known.kind === 'disks'
        ? refusal(409, 'OperationNotAllowed', `Disk ${known.name} is attached to VM ${known.attachedTo}.`)
        : refusal(400, 'NicInUse', `Network Interface ${known.name} is used by existing resource ${known.attachedTo}.`);
    known.state = 'Deleting';
    this.#keep(known);
    if (known.kind === 'virtualMachines') this.#power.off(known.vmId);
    return this.#begin(202, known, 'delete', fault);
  }

  power(id: string, what: 'deallocate' | 'start', fault: OperationFault): TransportResponse {
    const vm = this.get(id);
    if (!vm) return refusal(404, 'ResourceNotFound', `The Resource '${id}' was not found.`);
    if (vm.state === 'Deleting') return refusal(409, 'ResourceBeingDeleted', `${vm.name} is being deleted.`);
    if (vm.state !== 'Succeeded' && vm.state !== 'Failed')
      return refusal(409, 'OperationNotAllowed', `Another operation on VM ${vm.name} is in progress.`);
    vm.state = 'Updating';
    if (what === 'deallocate') {
      vm.power = 'deallocating';
      this.#power.halt?.(vm.vmId);
    } else if (vm.power !== undefined && vm.power !== 'running') vm.power = 'starting';
    this.#keep(vm);
    return this.#begin(202, vm, what, fault);
  }

  /**
   * Makes the metadata service of a VM report an interruption. A spot VM with the eviction policy `Delete` is deleted
   * at the deadline.
   */
  interrupt(name: string, order: InterruptionOrder): boolean {
    const vm = this.all().find((each) => each.kind === 'virtualMachines' && each.name === name);
    if (!vm || vm.state === 'Deleting') return false;
    const notice = nodeNotice('azure', order, this.#now());
    if (notice === undefined) return true;
    this.#power.notice?.(vm.vmId, notice);
    if (order.kind === 'Maintenance') return true;
    this.#options.clock.setTimeout(() => {
      const now = this.get(vm.id);
      if (now?.vmId === vm.vmId && now.state !== 'Deleting') this.delete(now, {});
    }, order.noticeMs);
    return true;
  }

  place(id: string, body: object): void {
    const [, group = '', kind = 'disks', name = ''] =
      /\/resourceGroups\/([^/]+)\/providers\/[^/]+\/(\w+)\/([^/]+)$/.exec(id) ?? [];
    const made = this.#make({ id, group, name, kind: kind as ResourceKind }, resourceBody.parse(body));
    made.state = made.body.properties.provisioningState === 'Failed' ? 'Failed' : 'Succeeded';
    this.#keep(made);
    if (made.kind === 'virtualMachines') this.#attach(made);
  }

  resume(): void {
    for (const each of this.all())
      if (each.kind === 'virtualMachines' && each.state === 'Succeeded' && (each.power ?? 'running') === 'running')
        this.#boot(each, true);
    for (const { done, doneAt } of this.#operations.values()) if (!done) this.#wakeAt(doneAt);
  }

  #make({ id, group, name, kind }: Place, body: ResourceBody, graphLagMs?: number): ArmResource {
    const createdAt = this.#now();
    const hex = createHash('sha256')
      .update(`${id} ${createdAt} ${++this.#number}`)
      .digest('hex');
    const address = `10.181.${Math.floor(this.#number / 250) % 250}.${(this.#number % 250) + 4}`;
    return {
      id,
      group,
      name,
      kind,
      body,
      createdAt,
      state: 'Creating',
      graphFrom: graphLagMs === undefined ? undefined : createdAt + graphLagMs,
      vmId: [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20, 32)].join('-'),
      privateIp: kind === 'networkInterfaces' ? address : undefined,
    };
  }

  /** Returns an error if a NIC or a disk of a new VM does not exist or is already attached. */
  #missing(place: Place, { properties }: ResourceBody): TransportResponse | undefined {
    const disks = (properties.storageProfile?.dataDisks ?? []).filter(({ createOption }) => createOption === 'Attach');
    const wanted = [
      ...(properties.networkProfile?.networkInterfaces ?? []).map(({ id = '' }) => id),
      ...disks.map(({ managedDisk }) => managedDisk?.id ?? ''),
    ];
    for (const id of wanted) {
      const found = this.#all.get(keyOf(id));
      if (!found) return refusal(404, 'NotFound', `Resource ${id} referenced by ${place.name} was not found.`);
      if (found.attachedTo !== undefined && keyOf(found.attachedTo) !== keyOf(place.id))
        return refusal(409, found.kind === 'disks' ? 'AttachDiskWhileBeingDetached' : 'NicInUse', `${id} is in use.`);
    }
    return undefined;
  }

  /** Creates the OS disk and the empty data disks of a VM, and attaches its NICs and its other disks. */
  #attach(vm: ArmResource, graphLagMs?: number): void {
    const { storageProfile = {}, networkProfile } = vm.body.properties;
    const taken = (id: string): void => {
      const found = this.#all.get(keyOf(id));
      if (found) this.#keep({ ...found, attachedTo: vm.id });
    };
    for (const { id = '' } of networkProfile?.networkInterfaces ?? []) taken(id);
    for (const disk of [storageProfile.osDisk ?? {}, ...(storageProfile.dataDisks ?? [])]) {
      if (disk.name === undefined) continue;
      const id = diskIdBeside(vm.id, disk.name);
      if (!this.#all.has(keyOf(id))) {
        const body = { tags: vm.body.tags, properties: {} };
        const made = this.#make({ id, group: vm.group, name: disk.name, kind: 'disks' }, body, graphLagMs);
        made.state = 'Succeeded';
        this.#keep(made);
      }
      taken(id);
    }
  }

  #begin(status: number, resource: ArmResource, what: ArmOperation['what'], fault: OperationFault): TransportResponse {
    const { operationMs = 45_000, origin = 'https://management.azure.com' } = this.#options;
    const number = String(++this.#number);
    const doneAt = this.#now() + (fault.operationMs ?? operationMs);
    const { failOperation: fail, visibleAfterMs: graphLagMs } = fault;
    const operation = {
      number,
      resource: resource.id,
      what,
      doneAt,
      done: false,
      graphLagMs,
      fail,
    };
    this.#operations.put(number, operation);
    this.#wakeAt(doneAt);
    const soon = (fault.operationMs ?? operationMs) < SOON_MS;
    const sent = withoutUndefined({
      'azure-asyncoperation': `${origin}/operations/${number}`,
      'retry-after': soon ? '1' : undefined,
    });
    return what !== 'put' ? answer(status, undefined, sent) : answer(status, reported(resource), sent);
  }

  #wakeAt(at: number): void {
    this.#options.clock.setTimeout(() => this.#settle(), Math.max(at - this.#now(), 0));
  }

  #settle(): void {
    const now = this.#now();
    for (const operation of this.#operations.values()) {
      if (operation.done || operation.doneAt > now) {
        if (operation.done && operation.doneAt + REMEMBERED_MS < now) this.#operations.delete(operation.number);
        continue;
      }
      this.#operations.put(operation.number, { ...operation, done: true });
      this.#finish(operation);
    }
  }

  #finish({ resource: id, what, fail, graphLagMs }: ArmOperation): void {
    const resource = this.#all.get(keyOf(id));
    if (!resource) return;
    const lag = graphLagMs ?? this.#options.graphLagMs ?? 0;
    if (what === 'delete' && fail === undefined) this.#remove(resource, { lag });
    else if (fail && what === 'put' && !fail.leave && resource.state === 'Creating')
      this.#remove(resource, { lag, half: true });
    else {
      const failed = fail !== undefined;
      const booted = resource.state === 'Creating' && !failed && resource.kind === 'virtualMachines';
      if (resource.state === 'Deleting' && what !== 'delete') return;
      resource.state = failed ? 'Failed' : 'Succeeded';
      const started = what === 'start' && !failed && resource.power === 'starting';
      if (what === 'deallocate') resource.power = failed ? 'running' : 'deallocated';
      if (what === 'start' && resource.power === 'starting') resource.power = failed ? 'deallocated' : 'running';
      const { failure: _, ...rest } = resource;
      this.#keep(fail ? { ...rest, failure: { code: fail.code, message: fail.message } } : rest);
      if (booted || started) this.#boot(resource, false);
    }
  }

  /**
   * Removes a resource. For a VM, the emulator also deletes attached resources with the delete option `Delete`, and
   * detaches all other resources.
   * @param half Whether the VM was created only partly, without its disks
   * @param lag The delay until Resource Graph shows the deletion
   */
  #remove(resource: ArmResource, { lag, half = false }: { readonly lag: number; readonly half?: boolean }): void {
    this.#forget(resource, lag);
    if (resource.kind !== 'virtualMachines') return;
    const { networkProfile, storageProfile = {} } = resource.body.properties;
    const disks = [storageProfile.osDisk, ...(storageProfile.dataDisks ?? [])].filter((each) => each !== undefined);
    const goes = (each: Reference): boolean => !half && each.deleteOption === 'Delete';
    for (const nic of networkProfile?.networkInterfaces ?? [])
      this.#release(nic.id ?? '', !half && (nic.properties?.deleteOption ?? nic.deleteOption) === 'Delete', lag);
    for (const disk of disks)
      this.#release(
        diskIdBeside(resource.id, disk.name ?? ''),
        goes(disk) || (half && disk.createOption !== 'Attach'),
        lag,
      );
  }

  #release(id: string, goes: boolean, lag: number): void {
    const found = this.#all.get(keyOf(id));
    if (!found) return;
    const { attachedTo: _, ...free } = found;
    if (goes) this.#forget(found, lag);
    else this.#keep(free);
  }

  #forget(resource: ArmResource, lag: number): void {
    this.#all.delete(keyOf(resource.id));
    this.#ghosts.splice(0, this.#ghosts.length, ...this.#ghosts.filter(({ until }) => until > this.#now()));
    if (lag > 0) this.#ghosts.push({ resource, until: this.#now() + lag });
  }

  #boot(vm: ArmResource, resumed: boolean): void {
    const { name, body, vmId, createdAt } = vm;
    const { osProfile, hardwareProfile, networkProfile, storageProfile } = body.properties;
    const [nic] = networkProfile?.networkInterfaces ?? [];
    const { location = '', zones: [zone] = [] } = body;
    this.#power.on(
      {
        id: vmId,
        hostname: osProfile?.computerName ?? name,
        providerId: `azure://${vm.id}`,
        zone: zone === undefined ? location : `${location}-${zone}`,
        machineType: hardwareProfile?.vmSize ?? '',
        image: JSON.stringify(storageProfile?.imageReference ?? {}),
        privateIp: this.#all.get(keyOf(nic?.id ?? ''))?.privateIp ?? '',
        userData: bootText(Buffer.from(osProfile?.customData ?? '', 'base64')),
        createdAt: new Date(createdAt).toISOString(),
      },
      resumed,
    );
  }

  #keep(resource: ArmResource): void {
    this.#all.put(keyOf(resource.id), resource);
  }

  #now(): number {
    return this.#options.clock.now().getTime();
  }
}

const SOON_MS = 10_000;

const REMEMBERED_MS = 3_600_000;
