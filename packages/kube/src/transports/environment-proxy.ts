import { BlockList, isIP } from 'node:net';
import { ConfigError } from '../credentials/cluster-config.ts';

type Variables = Readonly<Record<string, string | undefined>>;

const firstOf = (variables: Variables, names: readonly string[]) =>
  names.map((name) => ({ name, value: variables[name]?.trim() ?? '' })).find(({ value }) => value !== '');

const familyOf = (address: string): 'ipv4' | 'ipv6' => (isIP(address) === 6 ? 'ipv6' : 'ipv4');

function rangeOf(entry: string): BlockList | undefined {
  const [address = '', bits = '', more] = entry.split('/');
  if (more !== undefined || isIP(address) === 0 || !/^\d{1,3}$/.test(bits)) return undefined;
  if (Number(bits) > (isIP(address) === 6 ? 128 : 32)) return undefined;
  const range = new BlockList();
  range.addSubnet(address, Number(bits), familyOf(address));
  return range;
}

const partsOf = (entry: string): readonly (string | undefined)[] =>
  /^\[(.+)\](?::(\d+))?$/.exec(entry)?.slice(1) ??
  (isIP(entry) === 6 ? [entry] : (/^([^:]*)(?::(\d+))?$/.exec(entry)?.slice(1) ?? []));

function names(entry: string, host: string, port: string): boolean {
  if (entry === '*') return true;
  const range = rangeOf(entry);
  if (range !== undefined) return isIP(host) !== 0 && range.check(host, familyOf(host));
  const [text = '', wanted = port] = partsOf(entry);
  const name = text.replace(/^\*(?=\.)/, '');
  if (name === '' || wanted !== port) return false;
  return name.startsWith('.') ? host.endsWith(name) : host === name || host.endsWith(`.${name}`);
}

const LOOPBACK = new BlockList();
LOOPBACK.addSubnet('127.0.0.0', 8, 'ipv4');
LOOPBACK.addAddress('::1', 'ipv6');

const isOwnHost = (host: string): boolean =>
  host === 'localhost' || (isIP(host) !== 0 && LOOPBACK.check(host, familyOf(host)));

/**
 * Returns the proxy in `HTTPS_PROXY` for an origin, with the rules of Go's `httpproxy`. Connections over plain HTTP are
 * always direct, because a proxy cannot reach loopback addresses or metadata services.
 * @throws ConfigError without the value of the variable, which may contain a password
 */
export function environmentProxy(origin: string, variables: Variables): string | undefined {
  const set = firstOf(variables, ['HTTPS_PROXY', 'https_proxy']);
  if (set === undefined) return undefined;
  const text = set.value.includes('://') ? set.value : `http://${set.value}`;
  const proxy = URL.parse(text);
  if (proxy === null || !/^(https?|socks5):$/.test(proxy.protocol))
    throw new ConfigError(`${set.name} must be an http://, https:// or socks5:// URL`);
  const { protocol, hostname, port } = new URL(origin);
  const host = hostname.replace(/^\[|\]$/g, '');
  if (protocol !== 'https:' || isOwnHost(host)) return undefined;
  const direct = firstOf(variables, ['NO_PROXY', 'no_proxy'])?.value.toLowerCase().split(',') ?? [];
  return direct.some((entry) => names(entry.trim(), host, port || '443')) ? undefined : proxy.href;
}
