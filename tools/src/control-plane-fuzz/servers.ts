import { crds } from '@mcm/api';
import { startControlPlane } from '@mcm/control-plane';
import { machineConfigCrds } from '@mcm/machine-config';
import { parse } from 'yaml';
import { startRealApiServer } from '../real-api-server.ts';
import { batteryFixtures, createPlayer, type Fixture, type Player, type Runner } from './battery.ts';
import { type Kind, readResources, readSamples, type Samples, sharedKinds } from './requests/kinds.ts';
import { readSchemas, type Schemas } from './requests/schema.ts';

const JOBS = 4;
const ATTEMPTS = 40;
const AGAIN_MS = 250;

const again = (): Promise<void> => new Promise((resolve) => void setTimeout(resolve, AGAIN_MS));

/** The custom resource kinds of the battery and of this project. */
export const fixtures: readonly Fixture[] = [
  ...batteryFixtures(),
  ...[...crds, ...machineConfigCrds].map((crd) => ({
    path: '/apis/apiextensions.k8s.io/v1/customresourcedefinitions',
    body: crd,
    ready: `/apis/${crd.spec.group}/${crd.spec.versions[0]?.name}/${crd.spec.names.plural}`,
  })),
];

type Transport = (request: {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly credential: 'admin';
}) => Promise<{ readonly status: number; readonly stream: AsyncIterable<Uint8Array> }>;

export interface Server {
  readonly player: Player;
  /** Sends a GET request and returns the JSON of the response. */
  get(path: string): Promise<unknown>;
  close(): Promise<void>;
}

export function serverOf(runner: Runner, transport: unknown, stop: () => Promise<void>): Server {
  const player = createPlayer(runner, transport, fixtures, JOBS);
  const ask = async (path: string): Promise<{ readonly status: number; readonly text: string }> => {
    const headers = { accept: 'application/json' };
    const { status, stream } = await (transport as Transport)({ method: 'GET', path, headers, credential: 'admin' });
    const chunks: Uint8Array[] = [];
    for await (const chunk of stream) chunks.push(chunk);
    return { status, text: Buffer.concat(chunks).toString() };
  };
  return {
    player,
    get: async (path) => {
      for (let attempt = 1; ; attempt += 1) {
        const { status, text } = await ask(path);
        if (status === 200 && text !== '') return JSON.parse(text);
        if (attempt === ATTEMPTS) throw new Error(`GET ${path}: ${status} ${text}`);
        await again();
      }
    },
    close: async () => {
      player.close();
      await stop();
    },
  };
}

/** Starts the embedded control plane without its controllers. */
export async function startPlane(runner: Runner): Promise<Server> {
  const plane = await startControlPlane({ controllers: false, adminToken: 'fuzz', trustInProcess: false });
  const transport = runner.handlerTransport((request) => plane.fetch(request), { token: plane.adminToken });
  return serverOf(runner, transport, () => plane.close());
}

/**
 * Starts a real kube-apiserver from the folder `assets`. Both servers have the same address range for Services, so that
 * they choose similar addresses.
 */
export async function startReal(runner: Runner, assets: string): Promise<Server> {
  const real = await startRealApiServer(assets, { controllers: false, serviceCidr: '10.96.0.0/16' });
  const { users } = parse(real.kubeconfig) as {
    readonly users: readonly { readonly user: { readonly token: string } }[];
  };
  const token = users[0]?.user.token ?? '';
  // The certificate of kube-apiserver is self-signed and new at each start, so the fuzzer does not verify it.
  return serverOf(runner, runner.httpTransport({ server: real.url, insecure: true, token }), () => real.stop());
}

/**
 * Returns the OpenAPI schemas of all sample objects. The function retries, because kube-apiserver publishes the schema
 * of a custom kind with a delay.
 */
async function schemasOf({ samples }: Samples, real: Server): Promise<Schemas> {
  for (let attempt = 1; ; attempt += 1) {
    const schemas = await readSchemas((path) => real.get(path));
    const missing = samples
      .map(({ apiVersion, kind }) => ({ apiVersion: String(apiVersion), kind: String(kind) }))
      .find(({ apiVersion, kind }) => Object.keys(schemas.of(apiVersion, kind)).length === 0);
    if (missing === undefined) return schemas;
    if (attempt === ATTEMPTS)
      throw new Error(`the server publishes no schema of ${missing.apiVersion} ${missing.kind}`);
    await again();
  }
}

/** The kinds and schemas from which all fuzz cases are generated. */
export interface Ground {
  readonly kinds: readonly Kind[];
  readonly schemas: Schemas;
  readonly samples: Samples;
}

/** Installs the custom kinds on both servers, and reads the kinds of kube-apiserver. */
export async function prepare(real: Server, plane: Server): Promise<Ground> {
  const recorded = await real.player.record([{ name: 'custom kinds', steps: [] }]);
  await plane.player.compare(recorded);
  const samples = readSamples();
  const schemas = await schemasOf(samples, real);
  const [ofReal, ofPlane] = await Promise.all([readResources(real.get), readResources(plane.get)]);
  return { kinds: sharedKinds(samples, schemas, ofReal, ofPlane), schemas, samples };
}
