import { isConflict, isInvalid, isNotFound, type KubeClient } from '@mcm/kube';
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

/** Whether and how an object is applied. */
interface ApplyObjectOptions {
  readonly force: boolean;
  readonly signal: AbortSignal;
  /** The server checks the request and stores nothing. */
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

const TO_OVERWRITE = 'to overwrite these fields: --force-conflicts';

/** A missing namespace also causes the error 404, but then the answer contains a name. */
const isMissingKind = (error: unknown): boolean => isNotFound(error) && error.status.details?.name === undefined;

const missingKind = (object: Identified): string =>
  `${nameOf(object)}: the cluster does not have the kind ${object.kind} (${object.apiVersion}); install its CRD, or omit it from --with`;

/** The original and other installations select their pods with other labels. A Deployment cannot change its selector. */
const otherSelector = ({ kind, metadata: { name, namespace } }: Identified): string =>
  `${kind.toLowerCase()}/${name}: the existing ${kind} has another selector, which cannot change. Save and delete this ${kind}: kubectl -n ${namespace} delete ${kind.toLowerCase()} ${name} --cascade=foreground`;

/**
 * Asks the API server whether it would accept all objects, and stores nothing.
 * @throws UserError with one line for each object that cannot be applied. The kind is missing, an immutable field differs,
 *   or a field has another manager. With `force`, other managers are no problem.
 */
export async function checkObjects(
  client: KubeClient,
  objects: readonly object[],
  options: Pick<ApplyOptions, 'force' | 'signal'>,
): Promise<void> {
  const problems: string[] = [];
  const added = kindsOf(objects);
  for (const object of objects.filter(isIdentified)) {
    // The cluster gets this kind with the same installation.
    if (added.has(`${object.kind} ${object.apiVersion.split('/')[0]}`)) continue;
    const problem = await problemOf(client, object, options);
    if (problem !== undefined) problems.push(problem);
  }
  if (problems.length > 0) throw new UserError([...problems, 'nothing was applied'].join('\n'));
}

/** The kinds that the CRDs among the objects define. */
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
    // Without conflicts, the answer shows whether `--force-conflicts` would help.
    const forced = await problemOf(client, object, { force: true, signal });
    return forced ?? `${nameOf(object)}: ${error.message}; ${TO_OVERWRITE}`;
  }
}
