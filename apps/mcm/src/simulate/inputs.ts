import { defaultMachineDeployment, type MachineClass, type MachineDeployment } from '@mcm/api';
import { validateDeployment } from '@mcm/core';
import { type KubeObject, withoutUndefined } from '@mcm/kube';
import { UserError } from '../command/errors.ts';

const KIND = 'MachineClass';

export interface Inputs {
  /** The namespace of all deployments and classes. */
  readonly namespace: string;
  readonly deployments: readonly MachineDeployment[];
  readonly classes: readonly MachineClass[];
  readonly others: readonly KubeObject[];
}

const isOurs = ({ apiVersion }: KubeObject): boolean => apiVersion?.startsWith('machine.sapcloud.io/') ?? false;

function validated(object: KubeObject, namespace: string): MachineDeployment {
  const { name } = object.metadata;
  if (!name) throw new UserError('a MachineDeployment has no metadata.name');
  const deployment = defaultMachineDeployment({
    ...(object as MachineDeployment),
    metadata: { ...object.metadata, name, namespace },
  });
  const [problem] = validateDeployment(deployment);
  if (problem) throw new UserError(`machinedeployment ${name} is invalid: ${problem.field} ${problem.message}`);
  return deployment;
}

/** Finds the namespace of the machine objects. */
function namespaceOf(objects: readonly KubeObject[], from: string): string {
  const [first = 'default', ...more] = new Set(objects.map(({ metadata }) => metadata.namespace ?? 'default'));
  if (more.length > 0)
    throw new UserError(
      `${from} contains objects of the namespaces ${[first, ...more].join(', ')}; simulate one namespace`,
    );
  return first;
}

function verifyClasses({ deployments, classes }: Pick<Inputs, 'deployments' | 'classes'>, from: string): void {
  for (const { metadata, spec } of deployments) {
    const wanted = spec.template.spec.class.name;
    if (!classes.some((one) => one.metadata.name === wanted))
      throw new UserError(`machinedeployment ${metadata.name} needs MachineClass ${wanted}, which is not in ${from}`);
  }
}

/** The fields of the metadata that only the API server sets. A cluster refuses a new object with most of these fields. */
const SERVER_FIELDS: readonly string[] = [
  ...['creationTimestamp', 'deletionGracePeriodSeconds', 'deletionTimestamp', 'generation', 'managedFields'],
  ...['resourceVersion', 'selfLink', 'uid'],
];

/** Removes the fields that a cluster has added, so that the output of `kubectl get -o yaml` is a manifest. */
function asManifest(object: KubeObject): KubeObject {
  const { status: _, ...rest }: KubeObject & { readonly status?: unknown } = object;
  const metadata = { ...object.metadata };
  for (const field of SERVER_FIELDS) Reflect.deleteProperty(metadata, field);
  return { ...rest, metadata };
}

/** The simulation does not contain the owners, so its garbage collector would delete the objects. */
function withoutOwners(object: KubeObject): KubeObject {
  const { ownerReferences: _, ...metadata } = object.metadata;
  return { ...object, metadata };
}

/**
 * Returns a class in the namespace of the simulation. If a manifest contains no namespace, a user selects the namespace
 * with `kubectl apply -n`, so the references to Secrets of this namespace must follow.
 */
function inNamespace(machineClass: MachineClass, namespace: string): MachineClass {
  const { metadata, secretRef, credentialsSecretRef } = machineClass;
  const moved = { ...machineClass, metadata: { ...metadata, namespace } };
  if (metadata.namespace !== undefined) return moved;
  return {
    ...moved,
    ...withoutUndefined({
      secretRef: secretRef && { ...secretRef, namespace },
      credentialsSecretRef: credentialsSecretRef && { ...credentialsSecretRef, namespace },
    }),
  };
}

/**
 * Selects the objects of a simulation. The simulation ignores Secrets, because the simulated cloud has its own
 * credentials.
 */
export function inputsOf(read: readonly KubeObject[], from: string): Inputs {
  const objects = read.map(asManifest);
  const ours = objects.filter(isOurs).map(withoutOwners);
  const namespace = namespaceOf(ours, from);
  const deployments = ours.filter(({ kind }) => kind === 'MachineDeployment').map((one) => validated(one, namespace));
  if (deployments.length === 0) throw new UserError(`${from} contains no MachineDeployment to simulate`);
  const classes = ours.filter(({ kind }) => kind === KIND).map((one) => inNamespace(one as MachineClass, namespace));
  verifyClasses({ deployments, classes }, from);
  const others = objects.filter((one) => !isOurs(one) && one.kind !== 'Secret' && one.kind !== 'Namespace');
  return { namespace, deployments, classes, others };
}

export function verifyProvider(classes: readonly MachineClass[], provider: string): void {
  const other = classes.find((one) => (one.provider ?? '').toLowerCase() !== provider.toLowerCase());
  if (other)
    throw new UserError(
      `machineclass ${other.metadata.name} has the provider ${other.provider ?? '""'}, but the driver is ${provider}: use --provider`,
    );
}
