import { createHash } from 'node:crypto';
import type { GceInstance, GceOperation } from './model.ts';

export const API = 'https://www.googleapis.com/compute/v1';

/**
 * Returns a fingerprint: a hash of the current value. A request that changes the value must contain the fingerprint of
 * the value that the client has read.
 */
const fingerprint = (value: unknown): string =>
  createHash('sha256')
    .update(JSON.stringify(value ?? null))
    .digest('base64')
    .slice(0, 12);

/**
 * Returns the name of a disk, from its URL or from the field `diskName`. If a request contains no disk name, the cloud
 * generates a name.
 */
export const diskNameOf = (
  instance: string,
  {
    boot,
    initializeParams,
  }: { boot?: boolean | undefined; initializeParams?: { diskName?: string | undefined } | undefined },
  index: number,
): string => initializeParams?.diskName ?? (boot ? instance : `${instance}-${index}`);

/** Returns the fingerprint of an instance's labels. */
export const labelsPrint = ({ body }: Pick<GceInstance, 'body'>): string => fingerprint(body.labels);

export function reported({ id, name, zone, project, body, creationTimestamp, status, privateIp }: GceInstance): object {
  const at = `${API}/projects/${project}/zones/${zone}`;
  return {
    ...body,
    kind: 'compute#instance',
    id,
    name,
    creationTimestamp,
    status,
    zone: at,
    selfLink: `${at}/instances/${name}`,
    labelFingerprint: labelsPrint({ body }),
    fingerprint: fingerprint({ id, status }),
    tags: { items: body.tags?.items ?? [], fingerprint: fingerprint(body.tags?.items) },
    metadata: { kind: 'compute#metadata', ...body.metadata, fingerprint: fingerprint(body.metadata) },
    disks: (body.disks ?? []).map(({ initializeParams: _, ...disk }, index) => ({
      kind: 'compute#attachedDisk',
      type: 'PERSISTENT',
      mode: 'READ_WRITE',
      deviceName: `persistent-disk-${index}`,
      index,
      source: `${at}/disks/${diskNameOf(name, body.disks?.[index] ?? {}, index)}`,
      ...disk,
    })),
    networkInterfaces: (body.networkInterfaces ?? []).map((each, index) => ({
      kind: 'compute#networkInterface',
      name: `nic${index}`,
      networkIP: privateIp,
      fingerprint: fingerprint(each),
      ...each,
    })),
  };
}

export function reportedOperation(operation: GceOperation): object {
  const { name, number, zone, project, operationType, instance, targetId, beganAt, doneAt, done, errors } = operation;
  const at = `${API}/projects/${project}/zones/${zone}`;
  const began = new Date(beganAt).toISOString();
  const failed = done && errors;
  return {
    kind: 'compute#operation',
    id: String(8_000_000_000_000_000_000n + BigInt(number)),
    name,
    zone: at,
    operationType,
    targetLink: `${at}/instances/${instance}`,
    targetId,
    selfLink: `${at}/operations/${name}`,
    insertTime: began,
    startTime: began,
    status: done ? 'DONE' : 'RUNNING',
    progress: done ? 100 : 0,
    endTime: done ? new Date(doneAt).toISOString() : undefined,
    error: failed ? { errors } : undefined,
    httpErrorStatusCode: failed ? 400 : undefined,
    httpErrorMessage: failed ? 'BAD REQUEST' : undefined,
  };
}
