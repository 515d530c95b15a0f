import { messageFields } from './messages.ts';

export const MAGIC = Uint8Array.from([0x6b, 0x38, 0x73, 0x00]);

/** Returns the error for a body that does not start with `MAGIC`. */
export function envelopeProblem(body: Uint8Array): string | undefined {
  if (body.length === 0) return 'empty data';
  if (MAGIC.every((byte, at) => body[at] === byte)) return undefined;
  return 'provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]';
}

/** Kinds that every group contains, and whose message is in meta.k8s.io. */
const SHARED = /Options$|^(Status|PartialObjectMetadata(List)?|API(Versions|Group|GroupList|ResourceList))$/;

/**
 * Returns the name of a message, such as `apps.v1.Deployment`. The name starts with the first word of the group, or
 * `core`. All versions of meta.k8s.io share the message PartialObjectMetadata.
 */
function messageOf(apiVersion: string, kind: string): string {
  if (SHARED.test(kind)) return `meta.v1.${kind}`;
  const [group, version] = apiVersion.includes('/') ? apiVersion.split('/') : ['core', apiVersion];
  return `${(group ?? '').split('.')[0]}.${version}.${kind}`;
}

/** Returns the message of a kind, or of the items of a list kind. */
export function formOf(apiVersion: string, kind: string): { message: string; isList: boolean } | undefined {
  const message = messageOf(apiVersion, kind);
  if (messageFields(message) !== undefined) return { message, isList: false };
  const item = kind.endsWith('List') ? messageOf(apiVersion, kind.slice(0, -4)) : '';
  return messageFields(item) === undefined ? undefined : { message: item, isList: true };
}
