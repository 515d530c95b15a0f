import type { Clock, Transport, TransportResponse } from '@mcm/kube';
import { z } from 'zod';

const part = z.looseObject({ name: z.string().optional(), id: z.string().optional() });
const resourceBody = z.looseObject({
  tags: z.record(z.string(), z.string()).optional(),
  properties: z.looseObject({
    networkProfile: z.looseObject({ networkInterfaces: z.array(part) }).optional(),
    storageProfile: z.looseObject({ osDisk: part.optional(), dataDisks: z.array(part).optional() }).optional(),
  }),
});
type Body = z.infer<typeof resourceBody>;

const graphBody = z.looseObject({
  query: z.string(),
  options: z.looseObject({ $skipToken: z.string().optional() }).optional(),
});

interface Resource {
  readonly id: string;
  readonly name: string;
  readonly type: string;
  readonly group: string;
  readonly body: Body;
}

export interface ArmEndpointOptions {
  readonly clock: Clock;
  readonly pageSize?: number;
  /** How long an operation takes; default 45 s. */
  readonly operationMs?: number;
}

const TYPES: Readonly<Record<string, string>> = {
  virtualMachines: 'microsoft.compute/virtualmachines',
  disks: 'microsoft.compute/disks',
  networkInterfaces: 'microsoft.network/networkinterfaces',
};

const RESOURCE =
  /^\/subscriptions\/[^/]+\/resourceGroups\/([^/]+)\/providers\/[^/]+\/(\w+)\/([^/]+)(\/subnets\/([^/]+))?$/;
const OPERATION = /^\/operations\/(\d+)$/;

/** Enough of Azure Resource Manager for the driver, in process: VMs with their NICs and disks, operations, Resource Graph. */
export class ArmEndpoint {
  readonly resources = new Map<string, Resource>();
  readonly #operations = new Map<string, { readonly doneAt: number; readonly effect: () => void; done: boolean }>();
  readonly #options: ArmEndpointOptions;

  constructor(options: ArmEndpointOptions) {
    this.#options = options;
  }

  readonly transport: Transport = async ({ method, path: whole, body = '' }) => {
    const { pathname } = new URL(whole, 'https://management.azure.com');
    this.#settle();
    const [, number] = OPERATION.exec(pathname) ?? [];
    if (number !== undefined) return this.#operation(number);
    if (pathname.endsWith('/Microsoft.ResourceGraph/resources')) return this.#graph(graphBody.parse(JSON.parse(body)));
    if (method === 'HEAD') return answer(204);
    const [, group = '', kind = '', name = '', , subnet] = RESOURCE.exec(pathname) ?? [];
    if (subnet !== undefined) return answer(200, { id: pathname, name: subnet, properties: {} });
    const type = TYPES[kind];
    if (type === undefined) return refusal(404, 'NotFound', `no such path ${pathname}`);
    const found = this.resources.get(pathname.toLowerCase());
    if (method === 'GET')
      return found ? answer(200, told(found)) : refusal(404, 'ResourceNotFound', `${name} was not found`);
    if (method === 'DELETE') return found ? this.#begin(202, () => this.#remove(found)) : answer(204);
    const made = { id: pathname, name, type, group, body: resourceBody.parse(JSON.parse(body)) };
    return this.#put(found ? { ...found, body: merge(found.body, made.body) } : made);
  };

  #settle(): void {
    const now = this.#options.clock.now().getTime();
    for (const each of this.#operations.values()) {
      if (each.done || each.doneAt > now) continue;
      each.done = true;
      each.effect();
    }
  }

  #begin(status: number, effect: () => void, body?: object): TransportResponse {
    const { clock, operationMs = 45_000 } = this.#options;
    const number = String(this.#operations.size + 1);
    this.#operations.set(number, { doneAt: clock.now().getTime() + operationMs, effect, done: false });
    return answer(status, body, { 'azure-asyncoperation': `https://management.azure.com/operations/${number}` });
  }

  #operation(number: string): TransportResponse {
    const operation = this.#operations.get(number);
    return operation
      ? answer(200, { status: operation.done ? 'Succeeded' : 'InProgress' })
      : refusal(404, 'NotFound', `operation ${number} was not found`);
  }

  /** The resource is there at once; a VM brings its OS disk and its empty data disks. */
  #put(resource: Resource): TransportResponse {
    this.resources.set(resource.id.toLowerCase(), resource);
    const { osDisk, dataDisks = [] } = resource.body.properties.storageProfile ?? {};
    for (const { name } of [osDisk ?? {}, ...dataDisks]) {
      if (name === undefined) continue;
      const id = resource.id.replace(/virtualMachines\/[^/]+$/, `disks/${name}`);
      const body = { ...(resource.body.tags ? { tags: resource.body.tags } : {}), properties: {} };
      const disk = { id, name, type: 'microsoft.compute/disks', group: resource.group, body };
      if (!this.resources.has(id.toLowerCase())) this.resources.set(id.toLowerCase(), disk);
    }
    return this.#begin(201, () => undefined, told(resource));
  }

  /** What was made with a VM goes with it. */
  #remove({ id, body, type }: Resource): void {
    this.resources.delete(id.toLowerCase());
    if (type !== 'microsoft.compute/virtualmachines') return;
    const { networkProfile, storageProfile = {} } = body.properties;
    for (const nic of networkProfile?.networkInterfaces ?? []) this.resources.delete((nic.id ?? '').toLowerCase());
    const disks = [storageProfile.osDisk ?? {}, ...(storageProfile.dataDisks ?? [])];
    for (const { name = '' } of disks)
      this.resources.delete(id.replace(/virtualMachines\/[^/]+$/, `disks/${name}`).toLowerCase());
  }

  #graph({ query, options }: z.infer<typeof graphBody>): TransportResponse {
    const keys = [...query.matchAll(/tagKeys has '([^']+)'/g)].map(([, key = '']) => key);
    const rows = [...this.resources.values()]
      .filter(({ body }) => keys.every((key) => Object.hasOwn(body.tags ?? {}, key)))
      .map(({ type, name }) => ({ type, name }));
    const { pageSize = Number.POSITIVE_INFINITY } = this.#options;
    const from = Number(options?.$skipToken ?? 0);
    const next = from + pageSize < rows.length ? { $skipToken: String(from + pageSize) } : {};
    return answer(200, { totalRecords: rows.length, data: rows.slice(from, from + pageSize), ...next });
  }
}

const merge = (old: Body, change: Body): Body => ({ ...old, properties: { ...old.properties, ...change.properties } });

const told = ({ id, name, body }: Resource): object => ({
  ...body,
  id,
  name,
  properties: { ...body.properties, provisioningState: 'Updating' },
});

const refusal = (status: number, code: string, message: string): TransportResponse =>
  answer(status, { error: { code, message } });

const answer = (status: number, body?: object, headers: Readonly<Record<string, string>> = {}): TransportResponse => ({
  status,
  headers: { get: (name) => headers[name.toLowerCase()] ?? null },
  text: async () => (body === undefined ? '' : JSON.stringify(body)),
  body: null,
});
