import { messageFields } from './messages.ts';

/** The prefix of every body of `application/vnd.kubernetes.protobuf`. */
export const MAGIC = Uint8Array.from([0x6b, 0x38, 0x73, 0x00]);

/** Returns the error for a body without this prefix. `envelopeProblem` returns undefined if the body has it. */
export function envelopeProblem(body: Uint8Array): string | undefined {
  if (body.length === 0) return 'empty data';
  if (MAGIC.every((byte, at) => body[at] === byte)) return undefined;
  return 'provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]';
}

/** Types of every group with a message of meta.k8s.io. */
const SHARED = /Options$|^(Status|PartialObjectMetadata(List)?|API(Versions|Group|GroupList|ResourceList))$/;

/**
 * Returns the name of a message: `apps/v1` and `Deployment` → `apps.v1.Deployment`. A group is shortened to its first
 * word, and the core group is `core`. PartialObjectMetadata is the same message in each version of meta.k8s.io.
 */
function messageOf(apiVersion: string, kind: string): string {
  if (SHARED.test(kind)) return `meta.v1.${kind}`;
  const [group, version] = apiVersion.includes('/') ? apiVersion.split('/') : ['core', apiVersion];
  return `${(group ?? '').split('.')[0]}.${version}.${kind}`;
}

/** Returns the message of a kind, or of the items of a list kind. `formOf` returns undefined if it has none. */
export function formOf(apiVersion: string, kind: string): { message: string; isList: boolean } | undefined {
  const message = messageOf(apiVersion, kind);
  if (messageFields(message) !== undefined) return { message, isList: false };
  const item = kind.endsWith('List') ? messageOf(apiVersion, kind.slice(0, -4)) : '';
  return messageFields(item) === undefined ? undefined : { message: item, isList: true };
}
