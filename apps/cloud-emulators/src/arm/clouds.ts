import type { Transport, TransportRequest } from '@mcm/kube';
import type { Faults } from '../faults/faults.ts';
import { headerOf } from '../login/tokens.ts';
import { jsonAnswer } from '../server/answer.ts';
import type { Emulator, InterruptionOrder, ListedResource } from '../server/emulator.ts';
import type { EmulatorStore } from '../server/kept.ts';
import { ArmEndpoint, type ArmEndpointOptions } from './endpoint.ts';
import { isLogin, isMetadata } from './login.ts';
import { type AzureCloud, hasAudience, SOVEREIGN } from './sovereign.ts';

interface Sovereign {
  readonly cloud: AzureCloud;
  readonly endpoint: ArmEndpoint;
}

const partOf = (store: EmulatorStore, name: string): EmulatorStore => ({
  *load() {
    for (const row of store.load())
      if (row.kind.startsWith(`${name} `)) yield { ...row, kind: row.kind.slice(name.length + 1) };
  },
  put: (kind, id, body) => store.put(`${name} ${kind}`, id, body),
  remove: (kind, id) => store.remove(`${name} ${kind}`, id),
});

/**
 * The emulators of several Azure clouds. A request to a host of a sovereign cloud goes to the emulator of this cloud.
 * All other requests go to the emulator of the public cloud.
 */
export class AzureClouds implements Emulator {
  readonly faults: Faults;
  readonly counts: ReadonlyMap<string, number>;
  readonly #public: ArmEndpoint;
  readonly #sovereign: readonly Sovereign[];

  constructor(options: ArmEndpointOptions) {
    this.#public = new ArmEndpoint(options);
    const { faults, counts } = this.#public;
    this.faults = faults;
    this.counts = counts;
    this.#sovereign = SOVEREIGN.map((cloud) => {
      const store = options.store && { store: partOf(options.store, cloud.name) };
      return { cloud, endpoint: new ArmEndpoint({ ...options, ...store, cloud, shared: { faults, counts } }) };
    });
  }

  readonly transport: Transport = (request) => {
    const url = new URL(request.path, 'https://any.example');
    const asked = this.#asked(request, url);
    if (asked === undefined) return this.#public.transport(request);
    const { cloud, endpoint } = asked;
    const isToLogin = hostOf(request) === cloud.login;
    if (isToLogin !== isLogin(url.pathname) && !isMetadata(url.pathname))
      return Promise.resolve(
        jsonAnswer(404, { error: { code: 'NotFound', message: 'this host of the emulator does not serve the path' } }),
      );
    return endpoint.transport(request);
  };

  resources(): readonly ListedResource[] {
    const others = this.#sovereign.flatMap(({ cloud, endpoint }) =>
      endpoint.resources().map((each) => ({ ...each, id: `https://${cloud.management}${each.id}` })),
    );
    return [...this.#public.resources(), ...others];
  }

  interrupt(name: string, order: InterruptionOrder): boolean {
    const endpoints = [this.#public, ...this.#sovereign.map(({ endpoint }) => endpoint)];
    return endpoints.some((endpoint) => endpoint.interrupt(name, order));
  }

  resume(): void {
    for (const endpoint of [this.#public, ...this.#sovereign.map((each) => each.endpoint)]) endpoint.resume();
  }

  /** Returns the emulated cloud to which the host of a request belongs. */
  #asked(request: TransportRequest, { pathname, searchParams }: URL): Sovereign | undefined {
    const resource = searchParams.get('resource') ?? '';
    const host = hostOf(request);
    return this.#sovereign.find(({ cloud }) =>
      isMetadata(pathname) ? hasAudience(cloud, resource) : cloud.management === host || cloud.login === host,
    );
  }
}

const hostOf = ({ headers }: TransportRequest): string => (headerOf(headers, 'host') ?? '').replace(/:443$/, '');
