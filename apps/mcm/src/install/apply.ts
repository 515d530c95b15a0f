import { isConflict, isNotFound, type KubeClient } from '@mcm/kube';
import { UserError } from '../command/errors.ts';

/** An object with what its path is made of. */
interface Identified {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
}

const isIdentified = (object: object): object is Identified =>
  'apiVersion' in object && 'kind' in object && 'metadata' in object;

/** Plural names that adding an s does not make. */
const PLURALS: Readonly<Record<string, string>> = {
  NetworkPolicy: 'networkpolicies',
  ValidatingAdmissionPolicy: 'validatingadmissionpolicies',
};

function pathOf({ apiVersion, kind, metadata: { name, namespace } }: Identified): string {
  const root = apiVersion.includes('/') ? '/apis' : '/api';
  const plural = PLURALS[kind] ?? `${kind.toLowerCase()}s`;
  const within = namespace === undefined ? '' : `/namespaces/${encodeURIComponent(namespace)}`;
  return `${root}/${apiVersion}${within}/${plural}/${encodeURIComponent(name)}`;
}

/** What an application did with an object. */
export interface Applied {
  readonly what: string;
  readonly resourceVersion: string;
}

/** How objects are applied. */
export interface ApplyOptions {
  /** Take fields over that others have set. */
  readonly force: boolean;
  readonly signal: AbortSignal;
  /** Called for each object once the cluster has it: what comes after it may fail. */
  readonly onApplied?: (applied: Applied) => void;
}

/**
 * Applies objects server-side as field manager `mcm-install`, in order. Fields of others stay theirs; what somebody else set otherwise is
 * a conflict, unless `force`. Throws `UserError` for a conflict and for a kind that the cluster does not have; what was applied before stays.
 */
export async function applyObjects(
  client: KubeClient,
  objects: readonly object[],
  { force, signal, onApplied = () => undefined }: ApplyOptions,
): Promise<Applied[]> {
  const applied: Applied[] = [];
  for (const object of objects) {
    if (!isIdentified(object)) throw new Error('an object without apiVersion, kind or metadata');
    const one = await applyObject(client, object, { force, signal });
    applied.push(one);
    onApplied(one);
  }
  return applied;
}

async function applyObject(
  client: KubeClient,
  object: Identified,
  { force, signal }: { readonly force: boolean; readonly signal: AbortSignal },
): Promise<Applied> {
  const path = `${pathOf(object)}?fieldManager=mcm-install${force ? '&force=true' : ''}`;
  const what = `${object.kind.toLowerCase()}/${object.metadata.name}`;
  const options = { body: object, contentType: 'application/apply-patch+yaml', signal };
  try {
    const { metadata } = await client.request<{ metadata: { resourceVersion: string } }>('PATCH', path, options);
    return { what, resourceVersion: metadata.resourceVersion };
  } catch (error) {
    if (isConflict(error))
      throw new UserError(`${what}: ${error.message}; to take these fields over: --force-conflicts`);
    // A namespace that is not there is a 404 too, and its name is in the answer.
    if (isNotFound(error) && error.status.details?.name === undefined)
      throw new UserError(
        `${what}: the cluster has no ${object.kind} (${object.apiVersion}); install what brings it, or leave it out of --with`,
      );
    throw error;
  }
}
