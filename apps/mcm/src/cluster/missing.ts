import {
  isNotFound,
  type KubeClient,
  type KubeObject,
  nearest,
  type RequestOptions,
  type ResourceDefinition,
} from '@mcm/kube';
import { UserError } from '../command/errors.ts';

const MOST_NAMES = 5;

/** @throws UserError with a similar name or some existing names, if the object does not exist */
export async function getNamed<T extends KubeObject>(
  client: KubeClient,
  definition: ResourceDefinition<T>,
  namespace: string,
  name: string,
  options: RequestOptions = {},
): Promise<T> {
  const api = client.resource<T>(definition, namespace);
  try {
    return await api.get(name, options);
  } catch (error) {
    if (!isNotFound(error)) throw error;
    // If the server does not serve the kind, the list request fails too, with the same error.
    const { items } = await api.list(options);
    throw new UserError(noSuch(definition.kind.toLowerCase(), namespace, name, items));
  }
}

function noSuch(kind: string, namespace: string, name: string, there: readonly KubeObject[]): string {
  const names = there.map(({ metadata }) => metadata.name).sort();
  const near = nearest(name, names);
  const more = names.length > MOST_NAMES ? ` and ${names.length - MOST_NAMES} more` : '';
  const known =
    names.length === 0 ? `the namespace has no ${kind}` : `there are ${names.slice(0, MOST_NAMES).join(', ')}${more}`;
  const help = near === undefined ? known : `did you mean ${near}?`;
  return `there is no ${kind} ${name} in namespace ${namespace}; ${help}`;
}
