import type { IncomingHttpHeaders } from 'node:http';
import { isIP } from 'node:net';
import { isLoopback } from '../cluster/access.ts';

/** The parts of a request that tell where it comes from; an `IncomingMessage` of Node is one. */
export interface Arrived {
  readonly socket: { readonly remoteAddress?: string | undefined };
  readonly headers: IncomingHttpHeaders;
}

/** Why a request is refused that a web page has sent through the browser of this machine. */
export interface ForeignRefusal {
  readonly status: 403 | 421;
  readonly body: string;
}

const urlOf = (text: string): URL | undefined => (URL.canParse(text) ? new URL(text) : undefined);

/** An address cannot be rebound, and no domain but this machine's ends in `localhost`. */
function isOwnName(hostname: string): boolean {
  const name = hostname.replace(/^\[|\]$/g, '');
  return isIP(name) !== 0 || name === 'localhost' || name.endsWith('.localhost');
}

/** Whether the page that sends the request was served by the same address. */
function isOwnPage({ origin, host = '', 'sec-fetch-site': site }: IncomingHttpHeaders): boolean {
  if (origin === undefined) return site === undefined || site === 'none' || site === 'same-origin';
  const from = urlOf(origin);
  return from !== undefined && from.host === urlOf(`${from.protocol}//${host}`)?.host;
}

/**
 * Refuses what a web page sends to a loopback address that needs no credentials: under a domain of its own that it resolves
 * to this machine (DNS rebinding), or from another origin. Other peers pass: probes and scrapers use addresses and names of Pods,
 * and a browser cannot reach a Pod from its loopback interface.
 */
export function foreignRefusal({ socket, headers }: Arrived): ForeignRefusal | undefined {
  if (!isLoopback(socket.remoteAddress)) return undefined;
  const hostname = urlOf(`http://${headers.host ?? ''}`)?.hostname ?? '';
  if (!isOwnName(hostname))
    return { status: 421, body: 'over loopback this is served as localhost or as an IP address only\n' };
  if (!isOwnPage(headers)) return { status: 403, body: 'pages of other origins may not send requests here\n' };
  return undefined;
}
