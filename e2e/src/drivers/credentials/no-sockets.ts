import { Socket } from 'node:net';
import { afterAll, afterEach, beforeAll, expect } from 'vitest';

/**
 * Fails each test that opens a socket. A library that ignores the transport of the test would send requests to real
 * hosts.
 */
export function forbidSockets(): void {
  const tried: string[] = [];
  const { connect } = Socket.prototype;
  beforeAll(() => {
    Socket.prototype.connect = (...[to]: readonly unknown[]) => {
      tried.push(JSON.stringify(to));
      throw new Error('a driver opened a socket outside of the transport');
    };
  });
  afterEach(() => {
    expect(tried.splice(0)).toEqual([]);
  });
  afterAll(() => {
    Socket.prototype.connect = connect;
  });
}
