import { isConflict, isInvalid, isNotFound, type KubeClient } from '@mcm/kube';
import { UserError } from '../command/errors.ts';

interface Identified {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
}

const isIdentified = (object: object): object is Identified =>
  'apiVersion' in object && 'kind' in object && 'metadata' in object;

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

export interface Applied {
  readonly what: string;
  readonly resourceVersion: string;
}

export interface ApplyOptions {
  /** Whether to take over fields of other field managers. */
  readonly force: boolean;
  readonly signal: AbortSignal;
  readonly onApplied?: (applied: Applied) => void;
}

/**
 * Applies objects in order with server-side apply. The field manager of the installation is `mcm-install`. Fields of
 * other field managers stay unchanged.
 * @throws UserError if another manager owns a field (unless `force` is set), or if the cluster does not have a kind
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

interface CheckOptions extends Pick<ApplyOptions, 'force' | 'signal'> {
  /**
   * The namespace that mcm has just created. If the check of the objects fails, the error says that this namespace
   * stays.
   */
  readonly createdNamespace?: string | undefined;
}

interface ApplyObjectOptions {
  readonly force: boolean;
  readonly signal: AbortSignal;
  /** Whether the API server only validates the object and stores nothing. */
  readonly dryRun?: boolean;
}

const nameOf = ({ kind, metadata: { name } }: Identified): string => `${kind.toLowerCase()}/${name}`;

async function sendApply(
  client: KubeClient,
  object: Identified,
  { force, signal, dryRun = false }: ApplyObjectOptions,
): Promise<string> {
  const path = `${pathOf(object)}?fieldManager=mcm-install${force ? '&force=true' : ''}${dryRun ? '&dryRun=All' : ''}`;
  const options = { body: object, contentType: 'application/apply-patch+yaml', signal };
  const { metadata } = await client.request<{ metadata: { resourceVersion: string } }>('PATCH', path, options);
  return metadata.resourceVersion;
}

async function applyObject(client: KubeClient, object: Identified, options: ApplyObjectOptions): Promise<Applied> {
  const what = nameOf(object);
  try {
    return { what, resourceVersion: await sendApply(client, object, options) };
  } catch (error) {
    if (isConflict(error)) throw new UserError(`${what}: ${error.message}; ${TO_OVERWRITE}`);
    if (isMissingKind(error)) throw new UserError(missingKind(object));
    throw error;
  }
}

const TO_OVERWRITE = 'to overwrite the fields: --force-conflicts';

/**
 * Returns true if the API server does not know a kind. A 404 error about a missing namespace contains a name. A 404
 * error about a missing kind contains no name.
 */
const isMissingKind = (error: unknown): boolean => isNotFound(error) && error.status.details?.name === undefined;

const missingKind = (object: Identified): string =>
  `${nameOf(object)}: the cluster does not have the kind ${object.kind} (${object.apiVersion}); install its CRD, or remove the kind from --with`;

/** Returns a hint if an existing Deployment has another selector. The selector of a Deployment is immutable. */
const otherSelector = ({ kind, metadata: { name, namespace } }: Identified): string =>
  `${kind.toLowerCase()}/${name}: the existing ${kind} has another selector, which cannot change. Save and delete this ${kind}: kubectl -n ${namespace} delete ${kind.toLowerCase()} ${name} --cascade=foreground`;

/**
 * Validates all objects with a dry run of the API server.
 * @throws UserError with one line for each object that the API server refuses. The API server refuses a missing kind, a
 * changed immutable field, and, without `force`, a field of another manager.
 */
export async function checkObjects(
  client: KubeClient,
  objects: readonly object[],
  { createdNamespace, ...options }: CheckOptions,
): Promise<void> {
  const problems: string[] = [];
  const added = kindsOf(objects);
  for (const object of objects.filter(isIdentified)) {
    if (added.has(`${object.kind} ${object.apiVersion.split('/')[0]}`)) continue;
    const problem = await problemOf(client, object, options);
    if (problem !== undefined) problems.push(problem);
  }
  if (problems.length === 0) return;
  const remains = createdNamespace === undefined ? '' : `, but namespace/${createdNamespace} was created and remains`;
  throw new UserError([...problems, `no object was applied${remains}`].join('\n'));
}

const kindsOf = (objects: readonly object[]): ReadonlySet<string> =>
  new Set(
    objects.flatMap((object) =>
      'spec' in object && isDefinition(object.spec) ? [`${object.spec.names.kind} ${object.spec.group}`] : [],
    ),
  );

const isDefinition = (spec: unknown): spec is { readonly group: string; readonly names: { readonly kind: string } } =>
  typeof spec === 'object' && spec !== null && 'group' in spec && 'names' in spec;

async function problemOf(
  client: KubeClient,
  object: Identified,
  { force, signal }: Pick<ApplyOptions, 'force' | 'signal'>,
): Promise<string | undefined> {
  try {
    await sendApply(client, object, { force, signal, dryRun: true });
    return undefined;
  } catch (error) {
    if (isMissingKind(error)) return missingKind(object);
    if (isInvalid(error) && error.message.includes('field is immutable')) return otherSelector(object);
    if (!isConflict(error)) throw error;
    const forced = await problemOf(client, object, { force: true, signal });
    return forced ?? `${nameOf(object)}: ${error.message}; ${TO_OVERWRITE}`;
  }
}
