import { booleanFlag, ConfigError, type Flag, textFlag } from '@mcm/kube';

const LOOPBACK = /^(localhost|127(\.\d+){3}|\[::1\])$/;
/** Addresses that never leave the network of the host. Metadata servers use plain http there. */
const LINK_LOCAL = /^(169\.254(\.\d+){2}|\[fe80:.*\]|\[fd00:ec2::254\]|metadata\.google\.internal)$/;

/** Environment variables as in `process.env`. */
export type Variables = Readonly<Record<string, string | undefined>>;

/** A flag with the address of a cloud service. */
export const endpointFlag = (help: string): Flag<string> => textFlag({ placeholder: '<url>', default: '', help });

/** A switch that is on, off or absent. If it is absent, an environment variable decides. */
export const switchFlag = (help: string): Flag<boolean | undefined> => ({
  ...booleanFlag({ default: false, help }),
  fallback: undefined,
  shown: '',
});

/** The flag that lets every provider send credentials over plain http. */
export const plainHttpFlag = {
  'allow-plain-http': switchFlag(
    'allow cloud endpoints with plain http on other hosts; also MCM_ALLOW_PLAIN_HTTP=true',
  ),
} as const;

/** An effective setting: its source, `--ec2-endpoint` or `AWS_ENDPOINT_URL`, and its value. */
export interface GivenSetting<T> {
  readonly name: string;
  readonly value: T;
}

/**
 * Settings of a cloud: flags precede the environment variables, of which the first set one counts. An empty value
 * counts as absent. All readers throw `ConfigError` with the setting and a hint. A value that may contain credentials
 * is not printed.
 */
export class SettingSources {
  readonly #flags: Readonly<Record<string, unknown>>;
  readonly #variables: Variables;

  /** @param flags Values by the names of the flags, without dashes; absent: not given. */
  constructor(flags: Readonly<Record<string, unknown>>, variables: Variables) {
    this.#flags = flags;
    this.#variables = variables;
  }

  text(flag: string, ...variables: readonly string[]): GivenSetting<string> | undefined {
    const value = this.#flags[flag];
    if (typeof value === 'string' && value !== '') return { name: `--${flag}`, value };
    for (const name of variables) {
      const given = this.#variables[name];
      if (given) return { name, value: given };
    }
    return undefined;
  }

  switch(flag: string, variable: string): GivenSetting<boolean> | undefined {
    const value = this.#flags[flag];
    if (typeof value === 'boolean') return { name: `--${flag}`, value };
    const given = this.#variables[variable];
    if (!given) return undefined;
    if (given !== 'true' && given !== 'false')
      throw new ConfigError(`${variable}=${given} must be true or false; correct it or remove it`);
    return { name: variable, value: given === 'true' };
  }

  /**
   * Credentials and user data are sent to an endpoint. Plain http is therefore allowed for loopback addresses only,
   * except with `--allow-plain-http` or `MCM_ALLOW_PLAIN_HTTP=true`.
   * @param paths Allowed paths in addition to none; absent: any
   */
  endpoint(flag: string, variables: readonly string[], paths?: readonly string[]): GivenSetting<URL> | undefined {
    const given = this.text(flag, ...variables);
    return given && { name: given.name, value: this.#checked(given, paths) };
  }

  /** The address of a metadata server, with plain http for link-local addresses too. */
  metadataEndpoint(flag: string, ...variables: readonly string[]): GivenSetting<URL> | undefined {
    const given = this.text(flag, ...variables);
    if (!given) return undefined;
    const url = /^https?:\/\//.test(given.value) ? given.value : `http://${given.value}`;
    return { name: given.name, value: this.#checked({ ...given, value: url }, [], LINK_LOCAL) };
  }

  /** Whether plain http is allowed to other hosts. */
  get allowPlainHttp(): boolean {
    return this.switch('allow-plain-http', 'MCM_ALLOW_PLAIN_HTTP')?.value ?? false;
  }

  #checked({ name, value }: GivenSetting<string>, paths: readonly string[] | undefined, plain = LOOPBACK): URL {
    const url = URL.parse(value);
    if (!url || (url.protocol !== 'https:' && url.protocol !== 'http:'))
      throw new ConfigError(`${name} must be an https URL, or an http URL of this host: write https://host[:port]`);
    if (url.username || url.password)
      throw new ConfigError(`${name} must not contain a user or password: write https://host[:port]`);
    if (url.search || url.hash)
      throw new ConfigError(`${name} must not contain a query or fragment: write https://host[:port]`);
    const mayBePlain = LOOPBACK.test(url.hostname) || plain.test(url.hostname) || this.allowPlainHttp;
    if (url.protocol === 'http:' && !mayBePlain)
      throw new ConfigError(
        `${name} is ${url.origin}, and plain http is only for loopback addresses: use https, or set MCM_ALLOW_PLAIN_HTTP=true`,
      );
    const path = url.pathname.replace(/\/+$/, '');
    if (paths && path !== '' && !paths.includes(path))
      throw new ConfigError(`${name} must not contain the path ${path}: write ${url.origin}`);
    return url;
  }
}

/** Effective endpoints by their source, for the first line of the log: origins only. */
export const endpointsInForce = (
  ...given: readonly (GivenSetting<URL> | undefined)[]
): Readonly<Record<string, string>> =>
  Object.fromEntries(given.flatMap((each) => (each ? [[each.name, each.value.origin]] : [])));
