/** The kit records all output, because a driver may print without its logger. */
export interface Listening {
  readonly text: () => string;
  readonly stop: () => void;
}

/** Records standard output and standard error until `stop` is called. */
export function listenToOutput(): Listening {
  const heard: string[] = [];
  const undo = [process.stdout, process.stderr].map((stream) => {
    const { write } = stream;
    const spy = (...reported: Parameters<typeof write>): boolean => {
      heard.push(typeof reported[0] === 'string' ? reported[0] : Buffer.from(reported[0]).toString('utf8'));
      return write.apply(stream, reported);
    };
    stream.write = spy as typeof write;
    return () => {
      stream.write = write;
    };
  });
  return {
    text: () => heard.join(''),
    stop: () => {
      for (const each of undo) each();
    },
  };
}
