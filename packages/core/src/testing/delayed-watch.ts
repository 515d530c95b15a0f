/** Delays each part of a watch until `pause` resolves. */
export function delayedWatch(response: Response, pause: () => Promise<unknown>): Response {
  if (response.body === null) return response;
  const reader = response.body.getReader();
  const stream = new ReadableStream<Uint8Array>({
    async pull(controller) {
      const { done, value } = await reader.read();
      if (done) return controller.close();
      await pause();
      controller.enqueue(value);
    },
    cancel: (reason) => reader.cancel(reason),
  });
  return new Response(stream, { status: response.status, headers: response.headers });
}
