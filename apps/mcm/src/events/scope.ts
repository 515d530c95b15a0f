import { Labels, type MachineDeployment, machineDeployments } from '@mcm/api';
import type { Cluster } from '../cluster/cluster.ts';
import { type DeploymentReading, ownedBy, readNamespace } from '../cluster/deployment-reading.ts';
import { UserError } from '../command/errors.ts';

export interface ScopedObject {
  readonly kind?: string | undefined;
  readonly name?: string | undefined;
  readonly namespace?: string | undefined;
  readonly message?: string | undefined;
}

export interface ObjectScope {
  readonly objects: ReadonlySet<string>;
  /** The prefixes of machine names. A prefix also matches deleted machines, whose events exist for an hour. */
  readonly machinePrefixes: readonly string[];
  readonly named?: { readonly namespace: string; readonly machine: string } | undefined;
}

/**
 * The names of objects of these kinds start with the name of a machine. For Nodes, this is only usual: a Node may
 * have another name than its machine.
 */
const OF_MACHINES: readonly string[] = ['Machine', 'VM', 'Node'];

const keyOf = ({ kind = '', name = '', namespace = '' }: ScopedObject): string =>
  `${kind === 'Node' ? '' : namespace}/${kind}/${name}`;

/** Returns true if a text contains a name as a whole word, and not only as a part of a longer name. */
function isNamedIn(text: string, name: string): boolean {
  const parts = text.split(/[\s,:]+/).map((word) => word.replace(/\.$/, ''));
  return parts.includes(name);
}

export function isInScope(object: ScopedObject, { objects, machinePrefixes, named }: ObjectScope): boolean {
  if (objects.has(keyOf(object))) return true;
  const { kind = '', name = '', namespace = '', message = '' } = object;
  if (named && kind === 'MachineSet') return namespace === named.namespace && isNamedIn(message, named.machine);
  if (!OF_MACHINES.includes(kind)) return false;
  // A Node has no namespace, so the prefixes of all namespaces in the scope apply.
  return machinePrefixes.some((prefix) =>
    kind === 'Node'
      ? name.startsWith(prefix.slice(prefix.indexOf('/') + 1))
      : `${namespace}/${name}`.startsWith(prefix),
  );
}

/**
 * Returns the scope of deployments: the deployments, their sets, their nodes, and their machines, including deleted
 * ones.
 */
export const scopeOfDeployments = (readings: readonly DeploymentReading[]): ObjectScope => {
  const scopes = readings.map(scopeOfDeployment);
  return {
    objects: new Set(scopes.flatMap(({ objects }) => [...objects])),
    machinePrefixes: scopes.flatMap(({ machinePrefixes }) => machinePrefixes),
  };
};

function scopeOfDeployment({ deployment, sets, machines }: DeploymentReading): ObjectScope {
  const { name, namespace = '' } = deployment.metadata;
  const living = [...machines.values()].flat();
  const nodes = living.flatMap(({ metadata }) => metadata.labels?.[Labels.Node] ?? []);
  return {
    objects: new Set([
      `${namespace}/MachineDeployment/${name}`,
      ...sets.map(({ metadata }) => `${namespace}/MachineSet/${metadata.name}`),
      ...living.map(({ metadata }) => `${namespace}/Machine/${metadata.name}`),
      ...nodes.map((node) => `/Node/${node}`),
    ]),
    machinePrefixes: sets.map(({ metadata }) => `${namespace}/${metadata.name}-`),
  };
}

export const scopeOfObject = (kind: string, name: string, namespace: string): ObjectScope => ({
  objects: new Set([keyOf({ kind, name, namespace }), ...(kind === 'Machine' ? [`/Node/${name}`] : [])]),
  machinePrefixes: [],
  named: kind === 'Machine' ? { namespace, machine: name } : undefined,
});

interface SelectorFlags {
  readonly selector?: string | undefined;
  readonly allNamespaces?: true;
}

export async function readSelected(
  { client, namespace }: Pick<Cluster, 'client' | 'namespace'>,
  { selector, allNamespaces }: SelectorFlags,
  warn: (line: string) => void,
): Promise<ObjectScope | undefined> {
  if (selector === undefined) return undefined;
  const within = allNamespaces ? undefined : namespace;
  const [{ items }, reading] = await Promise.all([
    client.resource<MachineDeployment>(machineDeployments, within).list({ labelSelector: selector }),
    readNamespace(client, within),
  ]);
  const place = within === undefined ? '' : ` in namespace ${within}`;
  if (items.length === 0) warn(`mcm: no machinedeployment${place} has the labels ${selector}`);
  return scopeOfDeployments(items.map((deployment) => ownedBy(deployment, reading)));
}

export class LiveScope {
  readonly #read: () => Promise<ObjectScope>;
  #scope: ObjectScope;
  /** The sets and deployments that are not in the scope. */
  readonly #foreign = new Set<string>();

  constructor(scope: ObjectScope, read: () => Promise<ObjectScope>) {
    this.#scope = scope;
    this.#read = read;
  }

  async includes(object: ScopedObject): Promise<boolean> {
    if (isInScope(object, this.#scope)) return true;
    const owner = ownerKey(object);
    if (owner === undefined || this.#foreign.has(owner)) return false;
    this.#foreign.add(owner);
    try {
      this.#scope = await this.#read();
    } catch (error) {
      if (!(error instanceof UserError)) throw error;
    }
    return isInScope(object, this.#scope);
  }
}

/** Returns the key of the object's owner. */
function ownerKey(object: ScopedObject): string | undefined {
  const { kind = '', name = '' } = object;
  if (kind === 'Machine') return keyOf({ ...object, kind: 'MachineSet', name: name.slice(0, name.lastIndexOf('-')) });
  return kind === 'MachineSet' || kind === 'MachineDeployment' ? keyOf(object) : undefined;
}
