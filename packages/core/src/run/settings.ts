import { booleanFlag, ConfigError, type Flag, textFlag } from '@mcm/kube';

const LOOPBACK = /^(localhost|127(\.\d+){3}|\[::1\])$/;
/**
 * Matches the addresses of metadata servers. Metadata servers use plain http, and no router forwards link-local
 * addresses.
 */
const LINK_LOCAL = /^(169\.254(\.\d+){2}|\[fe80:.*\]|\[fd00:ec2::254\]|metadata\.google\.internal)$/;

/** Environment variables by name, as in `process.env`. */
export type Variables = Readonly<Record<string, string | undefined>>;

/** Creates a flag for the address of a cloud service. */
export const endpointFlag = (help: string): Flag<string> => textFlag({ placeholder: '<url>', default: '', help });

/** Creates a flag that is true or false, with an environment variable as its default. */
export const switchFlag = (help: string): Flag<boolean | undefined> => ({
  ...booleanFlag({ default: false, help }),
  fallback: undefined,
  shown: '',
});

/** Creates the flag `--allow-plain-http`. With this flag, every provider may send credentials over plain http. */
export const plainHttpFlag = {
  'allow-plain-http': switchFlag(
    'allow plain http to cloud endpoints on other hosts; the variable MCM_ALLOW_PLAIN_HTTP=true has the same effect',
  ),
} as const;

/** The value of a setting, and its source, such as `--ec2-endpoint` or `AWS_ENDPOINT_URL`. */
export interface GivenSetting<T> {
  readonly name: string;
  readonly value: T;
}

/**
 * Reads settings from flags and environment variables; flags take precedence. If several environment variables are set,
 * mcm uses the first variable in the list. An empty setting counts as absent. All methods of `Settings` throw
 * `ConfigError` with the setting and a hint. Values that may contain credentials are not printed.
 */
export class SettingSources {
  readonly #flags: Readonly<Record<string, unknown>>;
  readonly #variables: Variables;

  /** @param flags The values of the flags, by the names without dashes. */
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
      throw new ConfigError(`${variable}=${given} must be true or false; correct or remove the variable`);
    return { name: variable, value: given === 'true' };
  }

  /**
   * The driver sends credentials and user data to the endpoint, so plain http needs a loopback address or
   * `--allow-plain-http`.
   * @param paths the paths that the endpoint may have, in addition to no path (default: any path)
   */
  endpoint(flag: string, variables: readonly string[], paths?: readonly string[]): GivenSetting<URL> | undefined {
    const given = this.text(flag, ...variables);
    return given && { name: given.name, value: this.#checked(given, paths) };
  }

  /** Returns the endpoint of a metadata server. The endpoint may use plain http with a link-local address. */
  metadataEndpoint(flag: string, ...variables: readonly string[]): GivenSetting<URL> | undefined {
    const given = this.text(flag, ...variables);
    if (!given) return undefined;
    const url = /^https?:\/\//.test(given.value) ? given.value : `http://${given.value}`;
    return { name: given.name, value: this.#checked({ ...given, value: url }, [], LINK_LOCAL) };
  }

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

/**
 * Returns the origin of each effective endpoint, by the name of its flag or variable, for the first line of the log.
 */
export const endpointsInForce = (
  ...given: readonly (GivenSetting<URL> | undefined)[]
): Readonly<Record<string, string>> =>
  Object.fromEntries(given.flatMap((each) => (each ? [[each.name, each.value.origin]] : [])));
