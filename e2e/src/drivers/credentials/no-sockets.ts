import { Socket } from 'node:net';
import { afterAll, afterEach, beforeAll, expect } from 'vitest';

/**
 * Lets no test of this file open a socket, and fails the test that tries: a library that ignores the transport that it is
 * given would ask real hosts, out of reach of clocks, faults and signals.
 */
export function forbidSockets(): void {
  const tried: string[] = [];
  const { connect } = Socket.prototype;
  beforeAll(() => {
    Socket.prototype.connect = (...[to]: readonly unknown[]) => {
      tried.push(JSON.stringify(to));
      throw new Error('a socket was opened beside the transport');
    };
  });
  afterEach(() => {
    expect(tried.splice(0)).toEqual([]);
  });
  afterAll(() => {
    Socket.prototype.connect = connect;
  });
}
