import type { IncomingHttpHeaders } from 'node:http';
import { isIP } from 'node:net';
import { isLoopback } from '../cluster/access.ts';

/** The fields of a request that identify its origin, with the names of Node.js `IncomingMessage`. */
export interface Arrived {
  readonly socket: { readonly remoteAddress?: string | undefined };
  readonly headers: IncomingHttpHeaders;
}

/** The response that refuses a request of a web page in a local browser. */
export interface ForeignRefusal {
  readonly status: 403 | 421;
  readonly body: string;
}

const urlOf = (text: string): URL | undefined => (URL.canParse(text) ? new URL(text) : undefined);

function isOwnName(hostname: string): boolean {
  const name = hostname.replace(/^\[|\]$/g, '');
  return isIP(name) !== 0 || name === 'localhost' || name.endsWith('.localhost');
}

/** Returns true if the web page comes from the address to which it sends the request. */
function isOwnPage({ origin, host = '', 'sec-fetch-site': site }: IncomingHttpHeaders): boolean {
  if (origin === undefined) return site === undefined || site === 'none' || site === 'same-origin';
  const from = urlOf(origin);
  return from !== undefined && from.host === urlOf(`${from.protocol}//${host}`)?.host;
}

/**
 * Refuses requests that foreign web pages send to a loopback address, because loopback clients need no credentials. A
 * foreign web page has another origin, or a domain that resolves to this machine (DNS rebinding).
 */
export function foreignRefusal({ socket, headers }: Arrived): ForeignRefusal | undefined {
  if (!isLoopback(socket.remoteAddress)) return undefined;
  const hostname = urlOf(`http://${headers.host ?? ''}`)?.hostname ?? '';
  if (!isOwnName(hostname))
    return { status: 421, body: 'the Host header of requests over loopback must be localhost or an IP address\n' };
  if (!isOwnPage(headers)) return { status: 403, body: 'the server refuses requests of pages with another origin\n' };
  return undefined;
}
