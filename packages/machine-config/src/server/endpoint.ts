import {
  type Clock,
  errorText,
  ignoreNotFound,
  type KubeClient,
  type Logger,
  type PlainAnswer,
  type PlainRequest,
} from '@mcm/kube';
import { certificatesName } from '../certificates/bundle.ts';
import { CONTROLLER_CONFIG_NAME } from '../constants/names.ts';
import { toIgnitionVersion } from '../ignition/index.ts';
import type { MachineConfigPool } from '../kinds/machine-config-pool.ts';
import { controllerConfigs, machineConfigPools, machineConfigs } from '../kinds/resources.ts';
import { bootConfigName, bootIgnition } from './boot-config.ts';
import { createRateLimiter, type RateLimit } from './limiter.ts';
import { createMachineTokens, type TokenCaches } from './machines.ts';
import { bootstrapIdOf, createTokenReviewer, type TokenUser } from './token-reviewer.ts';
import { versionFor } from './version.ts';

/** Options of the config server. */
export interface ConfigEndpointOptions {
  readonly control: KubeClient;
  readonly target: KubeClient;
  readonly clock: Clock;
  readonly log: Logger;
  readonly caches?: TokenCaches | undefined;
  readonly limit?: RateLimit;
  readonly onAnswer?: (status: number) => void;
}

const LIMIT: RateLimit = { burst: 60, perMinute: 120 };
const POOL_PATH = /^\/config\/([a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?)$/;

const text = (status: number, body: string, headers: Record<string, string> = {}): PlainAnswer => ({
  status,
  headers: { 'content-type': 'text/plain', ...headers },
  body,
});

/** Creates the handler of `GET /config/<pool>`, which returns the Ignition config of a pool to a machine that boots. */
export function createConfigEndpoint(options: ConfigEndpointOptions): (request: PlainRequest) => Promise<PlainAnswer> {
  const { log, onAnswer } = options;
  const endpoint = new Endpoint(options);
  return async (request) => {
    const { path, remoteAddress = '' } = request;
    const answer = await endpoint.answer(request).catch((error: unknown) => {
      log.error('Cannot serve the configuration to a machine', { path, remoteAddress, error: errorText(error) });
      return text(500, 'cannot read the configuration; see the log of the config server\n');
    });
    onAnswer?.(answer.status);
    return answer;
  };
}

class Endpoint {
  readonly #o: ConfigEndpointOptions;
  readonly #limiter;
  readonly #reviewer;
  readonly #machines;

  constructor(options: ConfigEndpointOptions) {
    this.#o = options;
    const { control, target, clock, caches, limit = LIMIT } = options;
    this.#limiter = createRateLimiter(limit, clock);
    this.#reviewer = createTokenReviewer(target, clock);
    this.#machines = createMachineTokens(control, clock, caches);
  }

  async answer(request: PlainRequest): Promise<PlainAnswer> {
    const { method, path, accept, remoteAddress = '' } = request;
    if (path === '/healthz') return isRead(method) ? text(200, 'ok') : notAllowed();
    const name = POOL_PATH.exec(path)?.[1];
    if (name === undefined) return text(404, 'not found\n');
    if (!isRead(method)) return notAllowed();
    const seconds = this.#limiter.take(remoteAddress);
    if (seconds !== undefined) return text(429, 'too many requests\n', { 'retry-after': String(seconds) });
    const version = versionFor(accept);
    if (version === undefined) return text(400, 'this version of Ignition is not supported\n');
    const token = /^Bearer +(\S+)$/i.exec(request.authorization ?? '')?.[1];
    const user = token === undefined ? undefined : await this.#reviewer.userOf(token);
    if (token === undefined || !user) return unauthorized();
    return this.#serve({ name, version, token, user, remoteAddress });
  }

  async #serve(asked: Asked): Promise<PlainAnswer> {
    const { name, version, token, user, remoteAddress } = asked;
    const { control, log } = this.#o;
    const pool = await ignoreNotFound(control.resource(machineConfigPools).get(name));
    if (!(await this.#isOf(pool, name, user))) {
      log.warn('Refused a request for the configuration of another pool', {
        pool: name,
        user: user.username,
        remoteAddress,
      });
      return text(
        403,
        `${user.username} does not belong to pool ${name}: no object in spec.machineRefs of the pool owns the machine\n`,
      );
    }
    if (!pool) return text(404, `pool ${name} does not exist\n`);
    const config = bootConfigName(pool);
    if (config === undefined) return text(500, `pool ${name} is not rendered yet; retry later\n`);
    const [machineConfig, certificates, controllerConfig] = await Promise.all([
      control.resource(machineConfigs).get(config),
      ignoreNotFound(control.resource(machineConfigs).get(certificatesName(name))),
      ignoreNotFound(control.resource(controllerConfigs).get(CONTROLLER_CONFIG_NAME)),
    ]);
    const bootstrap = bootstrapIdOf(user) === undefined ? {} : { bootstrapToken: token };
    const ignition = bootIgnition({
      machineConfig,
      controllerConfig,
      certificates,
      ...bootstrap,
    });
    log.info('Served the configuration to a machine', {
      pool: name,
      config,
      version,
      user: user.username,
      remoteAddress,
    });
    const headers = { 'content-type': 'application/json', 'cache-control': 'no-store' };
    return { status: 200, headers, body: JSON.stringify(toIgnitionVersion(ignition, version)) };
  }

  /** The token of a machine is valid only for the pool of the machine. */
  async #isOf(pool: MachineConfigPool | undefined, name: string, user: TokenUser): Promise<boolean> {
    const id = bootstrapIdOf(user);
    if (pool && id !== undefined && (await this.#machines.isOf(pool, id))) return true;
    return this.#reviewer.mayBoot(user, name);
  }
}

interface Asked {
  readonly name: string;
  readonly version: string;
  readonly token: string;
  readonly user: TokenUser;
  readonly remoteAddress: string;
}

const isRead = (method: string): boolean => method === 'GET' || method === 'HEAD';
const notAllowed = () => text(405, 'only the methods GET and HEAD are supported\n', { allow: 'GET, HEAD' });
const unauthorized = () =>
  text(401, 'a bearer token of the cluster is required, for example the bootstrap token of the machine\n', {
    'www-authenticate': 'Bearer',
  });
