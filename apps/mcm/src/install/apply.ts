import { isConflict, isNotFound, type KubeClient } from '@mcm/kube';
import { UserError } from '../command/errors.ts';

/** The fields of an object that its URL contains. */
interface Identified {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
}

const isIdentified = (object: object): object is Identified =>
  'apiVersion' in object && 'kind' in object && 'metadata' in object;

/** Irregular plurals. */
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

/** The result for an applied object. */
export interface Applied {
  readonly what: string;
  readonly resourceVersion: string;
}

/** Options of {@link applyObjects}. */
export interface ApplyOptions {
  /** Whether fields of other field managers are overwritten. */
  readonly force: boolean;
  readonly signal: AbortSignal;
  /** Called for each applied object, because a later one may fail. */
  readonly onApplied?: (applied: Applied) => void;
}

/**
 * Applies objects server-side in order, as field manager `mcm-install`. Fields of other managers stay unchanged. Throws
 * `UserError` for a conflict with another manager (unless `force` is set), and for a kind that does not exist in the
 * cluster. Objects that were applied before the error stay.
 */
export async function applyObjects(
  client: KubeClient,
  objects: readonly object[],
  { force, signal, onApplied = () => undefined }: ApplyOptions,
): Promise<Applied[]> {
  const applied: Applied[] = [];
  for (const object of objects) {
    if (!isIdentified(object)) throw new Error('an object must have apiVersion, kind and metadata');
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
      throw new UserError(`${what}: ${error.message}; to overwrite these fields: --force-conflicts`);
    // A missing namespace also causes the error 404, but then the answer contains a name.
    if (isNotFound(error) && error.status.details?.name === undefined)
      throw new UserError(
        `${what}: the cluster does not have the kind ${object.kind} (${object.apiVersion}); install its CRD, or omit it from --with`,
      );
    throw error;
  }
}
