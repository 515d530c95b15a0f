import type { KubeClient } from '@mcm/kube';

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

/**
 * Applies objects server-side as field manager `mcm-install`, in order. Fields of others stay theirs; what somebody else set otherwise is
 * a conflict, unless `force`.
 */
export async function applyObjects(
  client: KubeClient,
  objects: readonly object[],
  { force, signal }: { readonly force: boolean; readonly signal: AbortSignal },
): Promise<Applied[]> {
  const applied: Applied[] = [];
  for (const object of objects) {
    if (!isIdentified(object)) throw new Error('an object without apiVersion, kind or metadata');
    const path = `${pathOf(object)}?fieldManager=mcm-install${force ? '&force=true' : ''}`;
    const { metadata } = await client.request<{ metadata: { resourceVersion: string } }>('PATCH', path, {
      body: object,
      contentType: 'application/apply-patch+yaml',
      signal,
    });
    applied.push({
      what: `${object.kind.toLowerCase()}/${object.metadata.name}`,
      resourceVersion: metadata.resourceVersion,
    });
  }
  return applied;
}
