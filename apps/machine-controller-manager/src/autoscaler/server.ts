import type { Server, ServerUnaryCall, ServiceDefinition, sendUnaryData } from '@grpc/grpc-js';
import { AutoscalerError, type GroupInstance, type NamedNode, type NodeGroup, type NodeGroups } from '@mcm/core';
import { type Clock, errorText, type Logger } from '@mcm/kube';
import type { ObserveRequest } from './metrics.ts';
import { DESCRIPTOR, ENCODER, type Method, SERVICE } from './protocol.ts';

export interface AutoscalerCertificates {
  readonly cert: string;
  readonly key: string;
  readonly clientCa: string;
}

/** The fields of all requests. protobuf fills absent fields with defaults. */
interface Request {
  readonly id: string;
  readonly delta: number;
  readonly node: NamedNode | null;
  readonly nodes: readonly NamedNode[];
}

export interface AutoscalerServerOptions {
  readonly host: string;
  /** The port of the server. If the port is 0, the operating system selects a free port. */
  readonly port: number;
  readonly groups: Pick<NodeGroups, keyof NodeGroups>;
  /** Returns true if all caches contain their first lists. */
  readonly ready: () => boolean;
  readonly log: Logger;
  readonly clock: Clock;
  readonly observe: ObserveRequest;
}

export interface AutoscalerServer {
  readonly port: number;
  close(): Promise<void>;
}

const STATES = { running: 1, creating: 2, deleting: 3 } as const;
/** The error classes of the protocol: the cloud has no capacity, or any other error. */
const OUT_OF_RESOURCES = 1;
const OTHER = 99;

const NO_GROUP: NodeGroup = { id: '', minSize: 0, maxSize: 0, debug: '' };

const instanceMessage = ({ id, state, error }: GroupInstance) => ({
  id,
  status: {
    instanceState: STATES[state],
    errorInfo: error && {
      errorCode: error.code,
      errorMessage: error.message,
      instanceErrorClass: error.isCapacity ? OUT_OF_RESOURCES : OTHER,
    },
  },
});

const quantities = (resources: Readonly<Record<string, string>>) =>
  Object.fromEntries(Object.entries(resources).map(([name, string]) => [name, { string }]));

/**
 * Serves the external gRPC protocol of the cluster autoscaler. A client must present a certificate from the CA
 * `clientCa`.
 */
export async function startAutoscalerServer(
  { host, port, groups, ready, log, clock, observe }: AutoscalerServerOptions,
  { cert, key, clientCa }: AutoscalerCertificates,
): Promise<AutoscalerServer> {
  const [grpc, loader] = await Promise.all([import('@grpc/grpc-js'), import('@grpc/proto-loader')]);
  const definition = loader.fromJSON(DESCRIPTOR, { defaults: true });
  const encode = (definition[ENCODER] as ServiceDefinition)['Node'];
  const answers: Readonly<Record<Method, (request: Request) => object | Promise<object>>> = {
    NodeGroups: () => ({ nodeGroups: groups.list() }),
    NodeGroupForNode: ({ node }) => ({ nodeGroup: (node && groups.groupOfNode(node)) ?? NO_GROUP }),
    GPULabel: () => ({ label: '' }),
    GetAvailableGPUTypes: () => ({}),
    Cleanup: () => ({}),
    Refresh: () => ({}),
    NodeGroupTargetSize: ({ id }) => ({ targetSize: groups.targetSize(id) }),
    NodeGroupIncreaseSize: async ({ id, delta }) => (await groups.increase(id, delta)) ?? {},
    NodeGroupDeleteNodes: async ({ id, nodes }) => (await groups.remove(id, nodes)) ?? {},
    NodeGroupDecreaseTargetSize: async ({ id, delta }) => (await groups.decrease(id, delta)) ?? {},
    NodeGroupNodes: ({ id }) => ({ instances: groups.instances(id).map(instanceMessage) }),
    NodeGroupTemplateNodeInfo: ({ id }) => {
      const { status, ...node } = groups.template(id);
      const { capacity, allocatable } = status;
      const message = {
        ...node,
        status: { ...status, capacity: quantities(capacity), allocatable: quantities(allocatable) },
      };
      return { nodeBytes: encode?.requestSerialize(message) };
    },
  };
  const handlers = Object.fromEntries(
    Object.entries(answers).map(([method, answer]) => [
      method,
      (call: ServerUnaryCall<Request, object>, done: sendUnaryData<object>): void => {
        const since = clock.monotonic();
        const count = (code: string): void => observe({ method, code, seconds: (clock.monotonic() - since) / 1_000 });
        const settle = async (): Promise<object> => {
          if (!ready()) throw new Error('the manager has not filled its caches yet; retry later');
          return answer(call.request);
        };
        settle().then(
          (value) => {
            count('OK');
            done(null, value);
          },
          (error: unknown) => {
            const details = errorText(error);
            const code = error instanceof AutoscalerError ? error.code : 'UNAVAILABLE';
            log.info('Refused a request of the cluster autoscaler', { method, error: details });
            count(code);
            done({ code: grpc.status[code], details });
          },
        );
      },
    ]),
  );
  const server: Server = new grpc.Server();
  server.addService(definition[SERVICE] as ServiceDefinition, handlers);
  const pair = { private_key: Buffer.from(key), cert_chain: Buffer.from(cert) };
  const credentials = grpc.ServerCredentials.createSsl(Buffer.from(clientCa), [pair], true);
  const bound = await new Promise<number>((resolve, reject) => {
    server.bindAsync(`${host.includes(':') ? `[${host}]` : host}:${port}`, credentials, (error, at) =>
      error ? reject(error) : resolve(at),
    );
  });
  return {
    port: bound,
    close: async () => server.forceShutdown(),
  };
}
