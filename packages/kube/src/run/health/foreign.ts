import type { IncomingHttpHeaders } from 'node:http';
import { isIP } from 'node:net';
import { isLoopback } from '../cluster/access.ts';

/** The fields of a request that identify its origin, as in an `IncomingMessage` of Node.js. */
export interface Arrived {
  readonly socket: { readonly remoteAddress?: string | undefined };
  readonly headers: IncomingHttpHeaders;
}

/** The response to a request that a web page in a local browser sent. Such requests are refused. */
export interface ForeignRefusal {
  readonly status: 403 | 421;
  readonly body: string;
}

const urlOf = (text: string): URL | undefined => (URL.canParse(text) ? new URL(text) : undefined);

/**
 * Returns true if the name is an IP address or ends in `localhost`. DNS rebinding cannot change the address of this
 * name.
 */
function isOwnName(hostname: string): boolean {
  const name = hostname.replace(/^\[|\]$/g, '');
  return isIP(name) !== 0 || name === 'localhost' || name.endsWith('.localhost');
}

/** Returns true if the web page has the same address as its request. */
function isOwnPage({ origin, host = '', 'sec-fetch-site': site }: IncomingHttpHeaders): boolean {
  if (origin === undefined) return site === undefined || site === 'none' || site === 'same-origin';
  const from = urlOf(origin);
  return from !== undefined && from.host === urlOf(`${from.protocol}//${host}`)?.host;
}

/**
 * Refuses requests of web pages to a loopback address, because loopback needs no credentials. Such a web page has
 * another origin, or a domain that resolves to this machine (DNS rebinding). Other programs are allowed, because probes
 * and scrapers use addresses and names of Pods.
 */
export function foreignRefusal({ socket, headers }: Arrived): ForeignRefusal | undefined {
  if (!isLoopback(socket.remoteAddress)) return undefined;
  const hostname = urlOf(`http://${headers.host ?? ''}`)?.hostname ?? '';
  if (!isOwnName(hostname))
    return { status: 421, body: 'the Host header of requests over loopback must be localhost or an IP address\n' };
  if (!isOwnPage(headers)) return { status: 403, body: 'the server refuses requests of pages with another origin\n' };
  return undefined;
}
