import type { ComputeManagementClient } from '@azure/arm-compute';
import type { NetworkManagementClient } from '@azure/arm-network';
import type { ResourceGraphClient } from '@azure/arm-resourcegraph';
import type { HttpClient } from '@azure/core-rest-pipeline';
import type { Client } from '@azure-rest/core-client';

/** The operation groups of the SDK that the bundled program contains. */
export const OPERATION_GROUPS = {
  compute: ['virtualMachines', 'disks', 'virtualMachineImages'],
  network: ['networkInterfaces', 'subnets'],
} as const satisfies {
  readonly compute: readonly (keyof ComputeManagementClient)[];
  readonly network: readonly (keyof NetworkManagementClient)[];
};
type Groups = typeof OPERATION_GROUPS;

export interface Clients {
  compute(): Promise<Pick<ComputeManagementClient, Groups['compute'][number]>>;
  network(): Promise<Pick<NetworkManagementClient, Groups['network'][number]>>;
  graph(): Promise<ResourceGraphClient>;
  /** Returns the client for image terms and resource groups. */
  rest(): Promise<Client>;
}

const compute = async () => {
  const { ComputeManagementClient } = await import('@azure/arm-compute');
  return ComputeManagementClient;
};
const network = async () => {
  const { NetworkManagementClient } = await import('@azure/arm-network');
  return NetworkManagementClient;
};
const graph = async () => {
  const { ResourceGraphClient } = await import('@azure/arm-resourcegraph');
  return ResourceGraphClient;
};
const rest = async () => {
  const { getClient } = await import('@azure-rest/core-client');
  return getClient;
};
const pipeline = async () => {
  const { createEmptyPipeline } = await import('@azure/core-rest-pipeline');
  return createEmptyPipeline;
};

/** Loads the SDK before the first call, so that no machine waits for it. */
export async function loadSdk(): Promise<void> {
  await Promise.all([compute(), network(), graph(), rest(), pipeline()]);
}

/** @param httpClient sends all requests of the clients */
export function createClients(endpoint: string, subscription: string, httpClient: HttpClient): Clients {
  // The clients of the SDK do not retry, log in or write logs, because the driver does this itself.
  const options = async () => ({
    endpoint,
    httpClient,
    allowInsecureConnection: true,
    pipeline: (await pipeline())(),
  });
  const noLogin = { getToken: async () => null };
  return {
    compute: once(async () => new (await compute())(noLogin, subscription, await options())),
    network: once(async () => new (await network())(noLogin, subscription, await options())),
    graph: once(async () => new (await graph())(noLogin, await options())),
    rest: once(async () => (await rest())(endpoint, await options())),
  };
}

function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined;
  return () => {
    made ??= make().catch((thrown: unknown) => {
      made = undefined;
      throw thrown;
    });
    return made;
  };
}
