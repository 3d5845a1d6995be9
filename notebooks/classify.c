#include <stdlib.h>
#include <string.h>

#include <stdio.h>
#include <tensorflow/c/c_api.h>

int main(int argc, char** argv) {
  TF_Status* status = TF_NewStatus();
  TF_Graph* graph = TF_NewGraph();
  const char* tags[] = {"serve"};
  TF_Session* session = TF_LoadSessionFromSavedModel(
      TF_NewSessionOptions(), NULL, argv[1], tags, 1, graph, NULL, status);
  if (TF_GetCode(status) != TF_OK) return fprintf(stderr, "%s\n", TF_Message(status)), 1;

  int64_t shape[] = {1};
  TF_Tensor* sentence = TF_AllocateTensor(TF_STRING, shape, 1, sizeof(TF_TString));
  TF_TString* text = TF_TensorData(sentence);
  TF_StringInit(text);
  TF_StringCopy(text, argv[4], strlen(argv[4]));

  TF_Output input = {TF_GraphOperationByName(graph, argv[2]), 0};
  TF_Output output = {TF_GraphOperationByName(graph, argv[3]), atoi(argv[5])};
  TF_Tensor* scores = NULL;
  TF_SessionRun(session, NULL, &input, &sentence, 1, &output, &scores, 1, NULL, 0, NULL, status);
  if (TF_GetCode(status) != TF_OK) return fprintf(stderr, "%s\n", TF_Message(status)), 1;

  for (int64_t i = 0; i < TF_TensorElementCount(scores); i++)
    printf("%.6f\n", ((float*)TF_TensorData(scores))[i]);
  return 0;
}
